package import FerryCore
package import FerryHTTP2
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

/// Makes the provider tokens of one team and key, and has each made once for all who ask.
///
/// Give the same source to every provider of the team and key: APNs wants a token to be changed "no more than once every
/// 20 minutes and no less than once every 60 minutes", and two sources change it twice as often. Ferry makes the first
/// when it is needed, renews it after 50 minutes, and never makes two within 20, whatever APNs or a clock says.
///
/// Safe from any thread. No description of a source shows the key or a token.
///
/// Source: "Establishing a token-based connection to APNs" (Apple).
public final class ProviderTokenSource: Sendable {
    private struct State {
        var machine: ProviderTokenMachine
        /// Why the last signature failed; nil when it did not.
        var failure: TLSError?

        /// Signed where the state is locked: whoever asks meanwhile waits 30 µs, and gets the same token.
        mutating func authorization(
            _ key: ES256Key,
            _ now: NIODeadline,
            _ epochSeconds: UInt32
        ) -> Authorization {
            switch self.machine.authorize(now: now, epochSeconds: epochSeconds) {
            case .token(let token):
                return .token(token)
            case .held(let until):
                return .held(until: until)
            case .sign(let input):
                do {
                    let signature = try key.sign(input)
                    self.failure = nil
                    return self.machine.signed(signature, now: now)
                } catch {
                    self.failure = error
                    return self.machine.signFailed(now: now)
                }
            }
        }
    }

    /// The key's identifier: `kid`.
    public let keyID: String
    /// The team's identifier: `iss`.
    public let teamID: String
    private let key: ES256Key
    private let state: Mutex<State>
    /// How long the machine has slept: added to every time that the token machine is told.
    private let slept: @Sendable () -> TimeAmount

    /// Makes a source. No token is made yet.
    ///
    /// - Parameters:
    ///   - key: Apple's `.p8` file, read.
    ///   - keyID: 10 characters, A to Z and 0 to 9; from the key's page of the developer account, or its file's name.
    ///   - teamID: 10 characters, A to Z and 0 to 9; from the membership page of the developer account.
    /// - Throws: ``TLSError`` with `malformedIdentifier`.
    public convenience init(key: ES256Key, keyID: String, teamID: String) throws(TLSError) {
        let sleepTime = SleepTime()
        try self.init(key: key, keyID: keyID, teamID: teamID, slept: { sleepTime.total })
    }

    /// - Parameter slept: how long the machine has slept so far.
    package init(
        key: ES256Key,
        keyID: String,
        teamID: String,
        slept: @escaping @Sendable () -> TimeAmount
    ) throws(TLSError) {
        let machine = try ProviderTokenMachine(
            keyID: Self.identifier(keyID, "key ID", "the key's page"),
            teamID: Self.identifier(teamID, "team ID", "the membership page")
        )
        self.keyID = keyID
        self.teamID = teamID
        self.key = key
        self.state = Mutex(State(machine: machine))
        self.slept = slept
    }

    private static func identifier(
        _ text: String,
        _ name: String,
        _ place: String
    ) throws(TLSError) -> DeveloperIdentifier {
        guard let identifier = DeveloperIdentifier(text) else {
            let fault = DeveloperIdentifier.fault(in: text) ?? "is malformed"
            throw TLSError(
                .malformedIdentifier,
                "The \(name) \(fault); copy it from \(place) of the developer account."
            )
        }
        return identifier
    }

    /// The token that is good now, without `bearer`; made if there is none. For tools: a provider asks by itself.
    ///
    /// About 30 µs when one is made.
    ///
    /// - Throws: ``TLSError`` when the key cannot sign; ``ProviderError`` with `credentialsRejected` when APNs has
    ///   refused the token and it is too early for another.
    public func token() throws -> String {
        try self.issue(now: .now(), epochSeconds: UInt32(clamping: time(nil))).token
    }

    /// As ``token()``, with the time that the token names as its own (`iat`, seconds since the UNIX epoch).
    package func issue(now: NIODeadline, epochSeconds: UInt32) throws -> (token: String, issuedAt: UInt32) {
        let now = now + self.slept()
        let (authorization, issuedAt, failure) = self.state.withLock { state in
            (state.authorization(self.key, now, epochSeconds), state.machine.issuedAt, state.failure)
        }
        guard case .token(let token) = authorization, let issuedAt else {
            if let failure { throw failure }
            throw Self.held(authorization, now)
        }
        return (String(decoding: token.headerValue.dropFirst("bearer ".utf8.count), as: UTF8.self), issuedAt)
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
        let authorization = self.state.withLock { $0.authorization(self.key, now + slept, epochSeconds) }
        guard case .held(let until) = authorization else { return authorization }
        return .held(until: until - slept)
    }

    /// Takes what APNs said of `token`. Reasons that are not about the token's age change nothing.
    package func refused(_ reason: Reason, _ token: ProviderToken, now: NIODeadline) {
        let now = now + self.slept()
        self.state.withLock { $0.machine.refused(reason, generation: token.generation, now: now) }
    }

    /// How many tokens were made.
    package var mintCount: UInt64 { self.state.withLock { $0.machine.mintCount } }

    /// Why the last signature failed; nil when it did not.
    package var signingFailure: TLSError? { self.state.withLock { $0.failure } }
}

extension ProviderTokenSource: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The identifiers, which are no secrets.
    public var description: String { "ProviderTokenSource(keyID: \(self.keyID), teamID: \(self.teamID))" }

    /// As ``description``.
    public var debugDescription: String { self.description }

    /// The identifiers.
    public var customMirror: Mirror {
        Mirror(self, children: ["keyID": self.keyID, "teamID": self.teamID], displayStyle: .class)
    }
}
