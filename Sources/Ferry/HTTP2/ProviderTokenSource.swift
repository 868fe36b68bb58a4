package import FerryCore
internal import FerryHTTP2
package import FerryMachine
public import FerryOpenSSL
internal import FerryPlatform
package import NIOCore
internal import Synchronization

/// The provider tokens of one team, made here with a key or taken from another program.
///
/// Share one source among all providers of the team and key. APNs wants a token to be changed "no more than once every
/// 20 minutes and no less than once every 60 minutes", and two sources would change it twice as often. With a key,
/// Ferry makes the first token when it is needed, renews it after 50 minutes, and never makes two within 20 minutes,
/// even if APNs or a clock asks for it. A token from another program is used until it is an hour old, and is changed
/// within the same bounds.
///
/// Safe from any thread. No description of a source shows the key or a token.
///
/// Source: "Establishing a token-based connection to APNs" (Apple).
public final class ProviderTokenSource: Sendable {
    private enum Maker {
        case key(ES256Key, ProviderTokenMachine, Sharing)
        case elsewhere(TokenSupply, GivenTokenMachine)
    }

    /// The processes that use the same tokens.
    private enum Sharing {
        case thisProcess
        /// All processes of this computer that use the file.
        case computer(SharedTokenFile)
        /// All processes, on any computer, that use the place.
        case fleet(TokenExchange)
    }

    private struct State {
        var maker: Maker
        /// The identifier of the key. Nil while it is unknown.
        var keyID: String?
        /// Why there is no valid token. Nil if there is one.
        var failure: (any Error)?

        /// Signs or fetches under the lock, so that concurrent callers wait and get the same token.
        mutating func authorization(_ now: NIODeadline, _ epochSeconds: UInt32) -> Authorization {
            switch self.maker {
            case .key(let key, var machine, var sharing):
                defer { self.maker = .key(key, machine, sharing) }
                return self.sign(key, &machine, &sharing, now, epochSeconds)
            case .elsewhere(var supply, var machine):
                defer { self.maker = .elsewhere(supply, machine) }
                return self.fetch(&supply, &machine, now, epochSeconds)
            }
        }

        private mutating func sign(
            _ key: ES256Key,
            _ machine: inout ProviderTokenMachine,
            _ sharing: inout Sharing,
            _ now: NIODeadline,
            _ epochSeconds: UInt32
        ) -> Authorization {
            switch machine.authorize(now: now, epochSeconds: epochSeconds) {
            case .token(let token): return .token(token)
            case .held(let until): return .held(until: until)
            case .sign(let input):
                switch sharing {
                case .thisProcess:
                    return self.sign(input, key, &machine, now)
                case .computer(let file):
                    return self.share(input, key, &machine, file, now, epochSeconds)
                case .fleet(var exchange):
                    defer { sharing = .fleet(exchange) }
                    do {
                        let keyID = self.keyID ?? ""
                        return self.succeeded(
                            try exchange.authorize(input, key, keyID: keyID, &machine, now: now)
                        )
                    } catch {
                        return self.failed(error, &machine, now)
                    }
                }
            }
        }

        private mutating func share(
            _ input: [UInt8],
            _ key: ES256Key,
            _ machine: inout ProviderTokenMachine,
            _ file: SharedTokenFile,
            _ now: NIODeadline,
            _ epochSeconds: UInt32
        ) -> Authorization {
            func adopted() -> Authorization? {
                // One computer has one clock, so the token's own time tells its age.
                guard let token = file.token(signedWith: key), let issuedAt = token.issuedAt, issuedAt <= epochSeconds
                else { return nil }
                let age = TimeAmount.seconds(Int64(epochSeconds - issuedAt))
                guard age < ProviderTokenMachine.renewalAge else { return nil }
                return machine.adopt(token, age: age, now: now)
            }
            if let authorization = adopted() { return self.succeeded(authorization) }
            return file.whileAlone {
                // Another process may have made a token since.
                if let authorization = adopted() { return self.succeeded(authorization) }
                let authorization = self.sign(input, key, &machine, now)
                if self.failure == nil, case .token(let token) = authorization { file.leave(token.bare) }
                return authorization
            }
        }

        /// Returns the offer for the shared place, if there is one, with its number.
        mutating func takeOffer() -> (TokenOffer, to: any SharedTokens, number: Int)? {
            guard case .key(let key, let machine, .fleet(var exchange)) = self.maker,
                let offer = exchange.takeOffer()
            else { return nil }
            self.maker = .key(key, machine, .fleet(exchange))
            return (offer, exchange.place, exchange.count)
        }

        mutating func answered(_ token: SharedToken?, to number: Int) {
            guard case .key(let key, let machine, .fleet(var exchange)) = self.maker else { return }
            exchange.answered(token, to: number)
            self.maker = .key(key, machine, .fleet(exchange))
        }

        mutating func replace(_ key: ES256Key, _ identifier: DeveloperIdentifier) -> Bool {
            guard case .key(_, var machine, var sharing) = self.maker else { return false }
            machine.replaceKey(identifier)
            if case .fleet(var exchange) = sharing {
                exchange.forget()
                sharing = .fleet(exchange)
            }
            self.maker = .key(key, machine, sharing)
            self.keyID = identifier.text
            self.failure = nil
            return true
        }

        private mutating func sign(
            _ input: [UInt8],
            _ key: ES256Key,
            _ machine: inout ProviderTokenMachine,
            _ now: NIODeadline
        ) -> Authorization {
            do {
                return self.succeeded(machine.signed(try key.sign(input), now: now))
            } catch {
                return self.failed(error, &machine, now)
            }
        }

        private mutating func failed(
            _ error: any Error,
            _ machine: inout ProviderTokenMachine,
            _ now: NIODeadline
        ) -> Authorization {
            self.failure = error
            return machine.signFailed(now: now)
        }

        private mutating func succeeded(_ authorization: Authorization) -> Authorization {
            self.failure = nil
            return authorization
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
            case .key(let key, var machine, let sharing):
                machine.refused(reason, generation: token.generation, now: now)
                self.maker = .key(key, machine, sharing)
            case .elsewhere(let supply, var machine):
                machine.refused(reason, generation: token.generation, now: now)
                self.maker = .elsewhere(supply, machine)
            }
        }

        /// The number of tokens that were made or taken.
        var count: UInt64 {
            switch self.maker {
            case .key(_, let machine, _): machine.mintCount
            case .elsewhere(_, let machine): machine.count
            }
        }

        /// The time that the current token names as its own (`iat`). Nil if the token does not name it.
        var issuedAt: UInt32? {
            switch self.maker {
            case .key(_, let machine, _): machine.issuedAt
            case .elsewhere(_, let machine): machine.current?.issuedAt
            }
        }
    }

    /// The team's identifier: `iss`. Nil if tokens come from another program.
    public let teamID: String?
    private let state: Locked<State>
    /// The number of replaced keys. An atomic, because connections read it all the time and must not wait for the lock.
    private let replacements = Atomic<Int>(0)
    /// The number of replaced keys, of refused tokens and of new ones.
    private let changes = Atomic<Int>(0)
    /// The time that the computer has slept. It is added to every time that is passed to the token machine.
    private let slept: @Sendable () -> TimeAmount

    /// Makes a source that signs tokens. Makes no token yet.
    ///
    /// - Parameters:
    ///   - key: the key from Apple's `.p8` file.
    ///   - keyID: 10 characters, A to Z and 0 to 9; from the key's page of the developer account, or from the file's
    ///     name.
    ///   - teamID: 10 characters, A to Z and 0 to 9; from the membership page of the developer account.
    /// - Throws: ``ConfigurationError`` with `malformedIdentifier`.
    public convenience init(key: ES256Key, keyID: String, teamID: String) throws(ConfigurationError) {
        let sleepTime = SleepTime()
        try self.init(key: key, keyID: keyID, teamID: teamID, slept: { sleepTime.total })
    }

    /// Makes a source that signs tokens and shares them with other processes of this computer through a file.
    ///
    /// A process uses the token in the file if `key` signed it and it is less than 50 minutes old. Otherwise it makes a new one and
    /// writes it there. If it cannot write the file later on, it makes its own.
    ///
    /// - Parameters:
    ///   - path: the file, which need not exist. It is for its owner only, and so is a second one, with `.lock` behind the name.
    ///   - key: as for ``init(key:keyID:teamID:)``.
    ///   - keyID: as for ``init(key:keyID:teamID:)``.
    ///   - teamID: as for ``init(key:keyID:teamID:)``.
    /// - Throws: ``ConfigurationError`` with `malformedIdentifier`, or with `tokenFileUnusable` when the files cannot be made.
    package convenience init(
        sharingIn path: String,
        key: ES256Key,
        keyID: String,
        teamID: String
    ) throws(ConfigurationError) {
        let sleepTime = SleepTime()
        let file = try SharedTokenFile(path: path)
        try self.init(key: key, keyID: keyID, teamID: teamID, .computer(file), slept: { sleepTime.total })
    }

    /// Makes a source that signs tokens and shares them with all processes that have the same place.
    ///
    /// Before it uses a token of its own, a process offers it to the place, and uses what stands there then. While the place
    /// is away it uses its last token until that is an hour old, and then its own. That one is offered again when it
    /// is 20 minutes old.
    ///
    /// - Parameters:
    ///   - place: the place. It is asked at most once in 10 s, unless a token is refused or the key is replaced.
    ///   - key: as for ``init(key:keyID:teamID:)``.
    ///   - keyID: as for ``init(key:keyID:teamID:)``.
    ///   - teamID: as for ``init(key:keyID:teamID:)``.
    ///   - slept: returns how long the computer has slept so far; nil for this computer.
    /// - Throws: ``ConfigurationError`` with `malformedIdentifier`.
    package convenience init(
        sharingIn place: any SharedTokens,
        key: ES256Key,
        keyID: String,
        teamID: String,
        slept: (@Sendable () -> TimeAmount)? = nil
    ) throws(ConfigurationError) {
        let sleepTime = SleepTime()
        let exchange = TokenExchange(place, teamID: teamID)
        try self.init(key: key, keyID: keyID, teamID: teamID, .fleet(exchange), slept: slept ?? { sleepTime.total })
    }

    /// Makes a source that reads tokens from a file, which another program writes. The file may be missing at first.
    ///
    /// The file holds one token, in the form that follows `bearer`; surrounding white space is ignored. While tokens
    /// are needed, the file is checked each second and read again after a change. To change the token, write a new file
    /// beside it and rename it. A token that is half written is not used, and a token that is written in two pieces may
    /// be missed.
    ///
    /// - Parameter path: the file. Other users should not be able to read it.
    public convenience init(tokenFile path: String) {
        self.init(TokenSupply(file: path))
    }

    /// Makes a source that gets tokens from a closure.
    ///
    /// - Parameter token: returns a valid token, in the form that follows `bearer`. Called at most once a second while
    ///   tokens are needed, on a provider's event loop or on the thread that calls ``token()``, and never concurrently.
    ///   It must not block, and must not call this source. An error that it throws is not shown; a token that it
    ///   returned before is used until it is an hour old.
    public convenience init(token: @escaping @Sendable () throws -> String) {
        self.init(TokenSupply(closure: token))
    }

    private convenience init(_ supply: TokenSupply) {
        let sleepTime = SleepTime()
        self.init(.elsewhere(supply, GivenTokenMachine()), slept: { sleepTime.total })
    }

    /// - Parameter slept: returns how long the computer has slept so far.
    package convenience init(
        key: ES256Key,
        keyID: String,
        teamID: String,
        slept: @escaping @Sendable () -> TimeAmount
    ) throws(ConfigurationError) {
        try self.init(key: key, keyID: keyID, teamID: teamID, .thisProcess, slept: slept)
    }

    private convenience init(
        key: ES256Key,
        keyID: String,
        teamID: String,
        _ sharing: Sharing,
        slept: @escaping @Sendable () -> TimeAmount
    ) throws(ConfigurationError) {
        let machine = try ProviderTokenMachine(
            keyID: Self.identifier(keyID, "key ID", "the key's page"),
            teamID: Self.identifier(teamID, "team ID", "the membership page")
        )
        self.init(.key(key, machine, sharing), keyID: keyID, teamID: teamID, slept: slept)
    }

    private init(
        _ maker: Maker,
        keyID: String? = nil,
        teamID: String? = nil,
        slept: @escaping @Sendable () -> TimeAmount
    ) {
        self.teamID = teamID
        self.state = Locked(State(maker: maker, keyID: keyID))
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

    /// The identifier of the key that signs: `kid`. Nil if tokens come from another program and no token was seen yet.
    public var keyID: String? { self.state.withLock { $0.keyID } }

    /// Signs with another key of the team from now on. Use it when the old key may be known to others.
    ///
    /// Every provider of this source leaves its connections: it makes no more requests on them, waits for the
    /// outstanding answers, and closes them. The next requests use new connections and tokens of the new key. The first
    /// such token is made at once, even if the last one is young. A request that APNs refuses because of the old key
    /// was not processed, and is sent again with the new key. So no notification is lost or delivered twice.
    ///
    /// Replace the key first, then revoke the old one. If the old key is revoked first, refusals by APNs are final
    /// until the key is replaced.
    ///
    /// Source: "For maximum security, close all of your existing HTTP/2 connections to APNs and establish new
    /// connections before making new requests" ("Establishing a token-based connection to APNs", Apple).
    ///
    /// - Parameters:
    ///   - key: the key from the new `.p8` file.
    ///   - keyID: the identifier of the new key.
    /// - Throws: ``ConfigurationError`` with `malformedIdentifier`; with `keyNotHere` if tokens come from another
    ///   program. There, a token of another key has the same effect.
    public func replace(key: ES256Key, keyID: String) throws(ConfigurationError) {
        let identifier = try Self.identifier(keyID, "key ID", "the key's page")
        guard self.state.withLock({ $0.replace(key, identifier) }) else {
            throw ConfigurationError(
                .keyNotHere,
                "The tokens of this source are made elsewhere, and so is their key: have them signed with another one there."
            )
        }
        self.changes.add(1, ordering: .releasing)
        self.replacements.add(1, ordering: .releasing)
    }

    /// Returns a valid token without `bearer`, and makes or fetches one if necessary. It is for tools, because a
    /// provider calls the source itself.
    ///
    /// Making a token costs about 30 µs.
    ///
    /// - Throws: ``TLSError`` when the key cannot sign; ``ProviderError`` with `credentialsRejected` when there is no
    ///   token, or when APNs has refused it and it is too early for another.
    public func token() throws -> String {
        let (token, _) = try self.current(now: .now(), epochSeconds: UInt32(clamping: time(nil)))
        return Self.text(token)
    }

    /// Returns the same as ``token()``, with the time in the token (`iat`, seconds since the UNIX epoch).
    package func issue(now: NIODeadline, epochSeconds: UInt32) throws -> (token: String, issuedAt: UInt32) {
        let (token, issuedAt) = try self.current(now: now, epochSeconds: epochSeconds)
        return (Self.text(token), issuedAt ?? epochSeconds)
    }

    private static func text(_ token: ProviderToken) -> String {
        String(decoding: token.bare, as: UTF8.self)
    }

    private func current(now: NIODeadline, epochSeconds: UInt32) throws -> (ProviderToken, issuedAt: UInt32?) {
        let now = now + self.slept()
        let (authorization, issuedAt, failure, offer) = self.state.withLock { state in
            (state.authorization(now, epochSeconds), state.issuedAt, state.failure, state.takeOffer())
        }
        if let offer { self.exchange(offer) }
        guard case .token(let token) = authorization else {
            if let failure { throw failure }
            throw Self.held(authorization, now)
        }
        return (token, issuedAt)
    }

    private static func held(_ authorization: Authorization, _ now: NIODeadline) -> ProviderError {
        if case .awaited = authorization {
            return ProviderError(.noProviderToken, "The provider token is on its way: ask again in a moment.")
        }
        var wait = ""
        if case .held(let until) = authorization {
            let seconds = ((until - now).nanoseconds + 999_999_999) / 1_000_000_000
            wait = "; the next can be had in \(seconds) s"
        }
        return ProviderError(.credentialsRejected, "APNs has refused the provider token\(wait).")
    }

    /// Returns the token for requests, or the time until which no request may be written.
    package func authorization(now: NIODeadline, epochSeconds: UInt32) -> Authorization {
        let slept = self.slept()
        let (authorization, isNew, offer) = self.state.withLock { state in
            let count = state.count
            return (state.authorization(now + slept, epochSeconds), state.count != count, state.takeOffer())
        }
        if isNew { self.changes.add(1, ordering: .releasing) }
        if let offer { self.exchange(offer) }
        switch authorization {
        case .held(let until): return .held(until: until - slept)
        case .awaited(let until): return .awaited(until: until - slept)
        case .certificate, .token: return authorization
        }
    }

    private func exchange(_ offer: (TokenOffer, to: any SharedTokens, number: Int)) {
        offer.to.exchange(offer.0) { [weak self] token in
            self?.state.withLock { $0.answered(token, to: offer.number) }
        }
    }

    /// Notes that APNs refused `token`. A reason that is not about the token's age has no effect.
    package func refused(_ reason: Reason, _ token: ProviderToken, now: NIODeadline) {
        let now = now + self.slept()
        self.state.withLock { $0.refused(reason, token, now) }
        self.changes.add(1, ordering: .releasing)
    }

    /// The number of tokens that were made or taken.
    package var mintCount: UInt64 { self.state.withLock { $0.count } }

    /// The number of replaced keys. Cheap.
    package var replacementCount: Int { self.replacements.load(ordering: .acquiring) }

    /// The number of replaced keys, of refused tokens and of new ones: while it stays, a token of a moment ago is as good as
    /// a new ask. Cheap.
    package var changeCount: Int { self.changes.load(ordering: .acquiring) }

    /// Why there is no valid token. Nil if there is one.
    package var failure: (any Error)? { self.state.withLock { $0.failure } }
}

extension ProviderToken {
    /// The token without `bearer`.
    fileprivate var bare: ArraySlice<UInt8> { self.headerValue.dropFirst("bearer ".utf8.count) }
}

extension ProviderTokenSource: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The identifiers. They are not secret.
    public var description: String {
        "ProviderTokenSource(keyID: \(self.keyID ?? "unknown"), teamID: \(self.teamID ?? "unknown"))"
    }

    /// The same as ``description``.
    public var debugDescription: String { self.description }

    /// The identifiers.
    public var customMirror: Mirror {
        Mirror(self, children: ["keyID": self.keyID as Any, "teamID": self.teamID as Any], displayStyle: .class)
    }
}
