package import FerryCore
internal import FerryHTTP2
package import FerryMachine
public import FerryOpenSSL
package import NIOCore
internal import Synchronization

#if canImport(Glibc)
private import Glibc
#elseif canImport(Musl)
private import Musl
#else
private import Darwin
#endif

/// Has the provider tokens of one team: makes each once for all who ask, or takes those that are made elsewhere.
///
/// Give the same source to every provider of the team and key: APNs wants a token to be changed "no more than once every
/// 20 minutes and no less than once every 60 minutes", and two sources change it twice as often. With a key, Ferry makes
/// the first when it is needed, renews it after 50 minutes, and never makes two within 20, whatever APNs or a clock says.
/// A token that is made elsewhere is used until it is an hour old, and changed as often.
///
/// Safe from any thread. No description of a source shows the key or a token.
///
/// Source: "Establishing a token-based connection to APNs" (Apple).
public final class ProviderTokenSource: Sendable {
    private enum Maker {
        case key(ES256Key, ProviderTokenMachine)
        case elsewhere(TokenSupply, GivenTokenMachine)
    }

    private struct State {
        var maker: Maker
        /// The identifier of the key, as far as it is known.
        var keyID: String?
        /// Why there is no token, or none that is good; nil when there is one.
        var failure: (any Error)?

        /// Signed, or read, where the state is locked: whoever asks meanwhile waits, and gets the same token.
        mutating func authorization(_ now: NIODeadline, _ epochSeconds: UInt32) -> Authorization {
            switch self.maker {
            case .key(let key, var machine):
                defer { self.maker = .key(key, machine) }
                return self.sign(key, &machine, now, epochSeconds)
            case .elsewhere(var supply, var machine):
                defer { self.maker = .elsewhere(supply, machine) }
                return self.fetch(&supply, &machine, now, epochSeconds)
            }
        }

        private mutating func sign(
            _ key: ES256Key,
            _ machine: inout ProviderTokenMachine,
            _ now: NIODeadline,
            _ epochSeconds: UInt32
        ) -> Authorization {
            switch machine.authorize(now: now, epochSeconds: epochSeconds) {
            case .token(let token):
                return .token(token)
            case .held(let until):
                return .held(until: until)
            case .sign(let input):
                do {
                    let signature = try key.sign(input)
                    self.failure = nil
                    return machine.signed(signature, now: now)
                } catch {
                    self.failure = error
                    return machine.signFailed(now: now)
                }
            }
        }

        private mutating func fetch(
            _ supply: inout TokenSupply,
            _ machine: inout GivenTokenMachine,
            _ now: NIODeadline,
            _ epochSeconds: UInt32
        ) -> Authorization {
            switch machine.authorize(now: now) {
            case .token(let token):
                return .token(token)
            case .held(let until):
                return .held(until: until)
            case .fetch:
                do throws(TokenSupply.Failure) {
                    let given = try supply.next()
                    let authorization = machine.given(given, now: now, epochSeconds: epochSeconds)
                    self.failure = machine.fault.map { supply.failure($0) }
                    self.keyID = machine.current?.keyID ?? self.keyID
                    return authorization
                } catch {
                    self.failure = error
                    return machine.notGiven(now: now)
                }
            }
        }

        mutating func refused(_ reason: Reason, _ token: ProviderToken, _ now: NIODeadline) {
            switch self.maker {
            case .key(let key, var machine):
                machine.refused(reason, generation: token.generation, now: now)
                self.maker = .key(key, machine)
            case .elsewhere(let supply, var machine):
                machine.refused(reason, generation: token.generation, now: now)
                self.maker = .elsewhere(supply, machine)
            }
        }

        /// How many tokens were made or taken.
        var count: UInt64 {
            switch self.maker {
            case .key(_, let machine): machine.mintCount
            case .elsewhere(_, let machine): machine.count
            }
        }

        /// What the current token says of its time; nil when it does not tell.
        var issuedAt: UInt32? {
            switch self.maker {
            case .key(_, let machine): machine.issuedAt
            case .elsewhere(_, let machine): machine.current?.issuedAt
            }
        }
    }

    /// The team's identifier: `iss`. Nil where tokens are made elsewhere.
    public let teamID: String?
    private let state: Mutex<State>
    /// How often the key was replaced. Read without the lock, because connections look at it all the time.
    private let replacements = Atomic<Int>(0)
    /// How long the machine has slept: added to every time that the token machine is told.
    private let slept: @Sendable () -> TimeAmount

    /// Makes a source that signs. No token is made yet.
    ///
    /// - Parameters:
    ///   - key: Apple's `.p8` file, read.
    ///   - keyID: 10 characters, A to Z and 0 to 9; from the key's page of the developer account, or its file's name.
    ///   - teamID: 10 characters, A to Z and 0 to 9; from the membership page of the developer account.
    /// - Throws: ``ConfigurationError`` with `malformedIdentifier`.
    public convenience init(key: ES256Key, keyID: String, teamID: String) throws(ConfigurationError) {
        let sleepTime = SleepTime()
        try self.init(key: key, keyID: keyID, teamID: teamID, slept: { sleepTime.total })
    }

    /// Makes a source of tokens that another program makes and writes to a file. The file need not be there yet.
    ///
    /// It holds one token as it stands behind `bearer`; white space around it does not count. While tokens are asked for,
    /// the file is looked at each second and read again when it has changed. Write a new token to a file beside it and
    /// rename that: a token that is seen half is not used, but one that is written in two pieces may be missed.
    ///
    /// - Parameter path: the file. Others should not be able to read it.
    public convenience init(tokenFile path: String) {
        self.init(TokenSupply(file: path))
    }

    /// Makes a source of tokens that a closure gives.
    ///
    /// - Parameter token: gives the token that is good now, as it stands behind `bearer`. Called while tokens are asked for,
    ///   at most once a second, on the event loop of a provider or the thread of a caller of ``token()``, and never by two
    ///   at a time. It must not block, nor call this source. What it throws is not shown; a token that was given before
    ///   is used until it is an hour old.
    public convenience init(token: @escaping @Sendable () throws -> String) {
        self.init(TokenSupply(closure: token))
    }

    private convenience init(_ supply: TokenSupply) {
        let sleepTime = SleepTime()
        self.init(.elsewhere(supply, GivenTokenMachine()), slept: { sleepTime.total })
    }

    /// - Parameter slept: how long the machine has slept so far.
    package convenience init(
        key: ES256Key,
        keyID: String,
        teamID: String,
        slept: @escaping @Sendable () -> TimeAmount
    ) throws(ConfigurationError) {
        let machine = try ProviderTokenMachine(
            keyID: Self.identifier(keyID, "key ID", "the key's page"),
            teamID: Self.identifier(teamID, "team ID", "the membership page")
        )
        self.init(.key(key, machine), keyID: keyID, teamID: teamID, slept: slept)
    }

    private init(
        _ maker: Maker,
        keyID: String? = nil,
        teamID: String? = nil,
        slept: @escaping @Sendable () -> TimeAmount
    ) {
        self.teamID = teamID
        self.state = Mutex(State(maker: maker, keyID: keyID))
        self.slept = slept
    }

    private static func identifier(
        _ text: String,
        _ name: String,
        _ place: String
    ) throws(ConfigurationError) -> DeveloperIdentifier {
        guard let identifier = DeveloperIdentifier(text) else {
            let fault = DeveloperIdentifier.fault(in: text) ?? "is malformed"
            throw ConfigurationError(
                .malformedIdentifier,
                "The \(name) \(fault); copy it from \(place) of the developer account."
            )
        }
        return identifier
    }

    /// The identifier of the key that signs: `kid`. Nil where tokens are made elsewhere and none has told it yet.
    public var keyID: String? { self.state.withLock { $0.keyID } }

    /// Signs with another key of the team from now on, for one that may have become known to others.
    ///
    /// Every provider of this source leaves its connections: each makes no more requests, waits for the answers of those
    /// under way, and closes. The next requests go out on new connections, with tokens of the new key, whose first is made
    /// at once, however young the one before is. What APNs refuses because of the old key in the meantime was not
    /// processed and is sent again with the new one. So nothing is lost, and nothing arrives twice.
    ///
    /// Replace the key first and revoke the old one then: until it is replaced, what APNs refuses for it is final.
    ///
    /// Source: "For maximum security, close all of your existing HTTP/2 connections to APNs and establish new connections
    /// before making new requests" ("Establishing a token-based connection to APNs", Apple).
    ///
    /// - Parameters:
    ///   - key: the `.p8` file of the new key, read.
    ///   - keyID: its identifier.
    /// - Throws: ``ConfigurationError`` with `malformedIdentifier`; with `keyNotHere` where tokens are made elsewhere: there,
    ///   a token of another key does the same by itself.
    public func replace(key: ES256Key, keyID: String) throws(ConfigurationError) {
        let identifier = try Self.identifier(keyID, "key ID", "the key's page")
        let isReplaced = self.state.withLock { state in
            guard case .key(_, var machine) = state.maker else { return false }
            machine.replaceKey(identifier)
            state.maker = .key(key, machine)
            state.keyID = keyID
            state.failure = nil
            return true
        }
        guard isReplaced else {
            throw ConfigurationError(
                .keyNotHere,
                "The tokens of this source are made elsewhere, and so is their key: have them signed with another one there."
            )
        }
        self.replacements.add(1, ordering: .releasing)
    }

    /// The token that is good now, without `bearer`; made or fetched if there is none. For tools: a provider asks by itself.
    ///
    /// About 30 µs when one is made.
    ///
    /// - Throws: ``TLSError`` when the key cannot sign; ``ProviderError`` with `credentialsRejected` when there is no token,
    ///   or APNs has refused it and it is too early for another.
    public func token() throws -> String {
        let (token, _) = try self.current(now: .now(), epochSeconds: UInt32(clamping: time(nil)))
        return Self.text(token)
    }

    /// As ``token()``, with the time that the token names as its own (`iat`, seconds since the UNIX epoch).
    package func issue(now: NIODeadline, epochSeconds: UInt32) throws -> (token: String, issuedAt: UInt32) {
        let (token, issuedAt) = try self.current(now: now, epochSeconds: epochSeconds)
        return (Self.text(token), issuedAt ?? epochSeconds)
    }

    private static func text(_ token: ProviderToken) -> String {
        String(decoding: token.headerValue.dropFirst("bearer ".utf8.count), as: UTF8.self)
    }

    private func current(now: NIODeadline, epochSeconds: UInt32) throws -> (ProviderToken, issuedAt: UInt32?) {
        let now = now + self.slept()
        let (authorization, issuedAt, failure) = self.state.withLock { state in
            (state.authorization(now, epochSeconds), state.issuedAt, state.failure)
        }
        guard case .token(let token) = authorization else {
            if let failure { throw failure }
            throw Self.held(authorization, now)
        }
        return (token, issuedAt)
    }

    private static func held(_ authorization: Authorization, _ now: NIODeadline) -> ProviderError {
        var wait = ""
        if case .held(let until) = authorization {
            let seconds = ((until - now).nanoseconds + 999_999_999) / 1_000_000_000
            wait = "; the next can be had in \(seconds) s"
        }
        return ProviderError(.credentialsRejected, "APNs has refused the provider token\(wait).")
    }

    /// By what right requests may be written now: a token, or none until a later time.
    package func authorization(now: NIODeadline, epochSeconds: UInt32) -> Authorization {
        let slept = self.slept()
        let authorization = self.state.withLock { $0.authorization(now + slept, epochSeconds) }
        guard case .held(let until) = authorization else { return authorization }
        return .held(until: until - slept)
    }

    /// Takes what APNs said of `token`. Reasons that are not about the token's age change nothing.
    package func refused(_ reason: Reason, _ token: ProviderToken, now: NIODeadline) {
        let now = now + self.slept()
        self.state.withLock { $0.refused(reason, token, now) }
    }

    /// How many tokens were made or taken.
    package var mintCount: UInt64 { self.state.withLock { $0.count } }

    /// How often the key was replaced. Cheap.
    package var replacementCount: Int { self.replacements.load(ordering: .acquiring) }

    /// Why there is no token, or none that is good; nil when there is one.
    package var failure: (any Error)? { self.state.withLock { $0.failure } }
}

extension ProviderTokenSource: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The identifiers, which are no secrets.
    public var description: String {
        "ProviderTokenSource(keyID: \(self.keyID ?? "unknown"), teamID: \(self.teamID ?? "unknown"))"
    }

    /// As ``description``.
    public var debugDescription: String { self.description }

    /// The identifiers.
    public var customMirror: Mirror {
        Mirror(self, children: ["keyID": self.keyID as Any, "teamID": self.teamID as Any], displayStyle: .class)
    }
}
