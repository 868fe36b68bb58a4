package import FerryCore
package import FerryMachine
package import NIOCore

/// The states of a provider token: when the machine makes, uses, renews and holds it. There is one machine for all
/// connections of a team and key.
///
/// It does not sign: its owner does, `ProviderTokenSource` of `Ferry`.
///
/// It makes nothing before the first request for a token. Every age is monotonic: if the wall clock jumps, only the
/// time inside the next token changes. The owner's clock should continue while the computer sleeps, because the token's
/// age does.
///
/// ```
///          ask                 signed
///   empty ─────▶ signing ─────────────────▶ minted ◀─┐ ask, under 50 minutes old: that token
///     ▲             │ ▲                      │   └───┘
///     └─────────────┘ └──────────────────────┘
///       signFailed      ask, 50 minutes old
///       (back-off)
/// ```
///
/// A minted token that APNs refused with ExpiredProviderToken is held until it is 20 minutes old, and then replaced.
/// After TooManyProviderTokenUpdates any token is held for 20 minutes.
///
/// Another key (``replaceKey(_:)``) starts again at `empty`.
///
/// If a renewal cannot be signed, the token before it is used until it is an hour old.
package struct ProviderTokenMachine: Sendable {
    /// The answer to a request for a token.
    package enum Answer: Sendable, Equatable {
        /// Use this token.
        case token(ProviderToken)
        /// Sign these bytes by ES256 at once. Pass the signature to ``signed(_:now:)``, or call ``signFailed(now:)``.
        case sign([UInt8])
        /// No token may be used. Ask again at this time, which is in the future.
        case held(until: NIODeadline)
    }

    private struct Minted {
        var token: ProviderToken
        var mintedAt: NIODeadline
        /// `iat`
        var issuedAt: UInt32
        var isRefused = false
    }

    private struct Draft {
        /// Header and claims, encoded.
        var input: [UInt8]
        var draftedAt: NIODeadline
        var issuedAt: UInt32
        var previous: Minted?
    }

    private enum State {
        case empty
        case signing(Draft)
        case minted(Minted)
    }

    /// The shortest time between two tokens: "no more than once every 20 minutes" ("Establishing a token-based
    /// connection to APNs", Apple).
    package static let shortestInterval = TimeAmount.minutes(20)
    /// "and no less than once every 60 minutes" (as above); Ferry renews ten minutes earlier.
    package static let renewalAge = TimeAmount.minutes(50)
    /// "APNs rejects any request whose token contains a timestamp that's more than one hour old" (as above)
    package static let longestAge = TimeAmount.minutes(60)
    /// How long no token is used after TooManyProviderTokenUpdates: the interval that APNs asks for.
    package static let freeze = TimeAmount.minutes(20)
    /// How long the machine waits after a failed signature before it tries again.
    package static let signingBackOff = TimeAmount.seconds(10)

    private let teamID: DeveloperIdentifier
    private var encodedHeader: [UInt8]
    private var keyCount: UInt64 = 1
    private var state = State.empty
    private var frozenUntil: NIODeadline?
    private var signingHeldUntil: NIODeadline?
    /// The number of tokens that were made.
    package private(set) var mintCount: UInt64 = 0

    package init(keyID: DeveloperIdentifier, teamID: DeveloperIdentifier) {
        self.teamID = teamID
        self.encodedHeader = Self.header(keyID)
    }

    private static func header(_ keyID: DeveloperIdentifier) -> [UInt8] {
        Base64URL.encode(#"{"alg":"ES256","kid":"\#(keyID)"}"#.utf8)
    }

    /// Replaces the key. The token of the old key is used no more, and APNs' refusals of it are forgotten: APNs counts
    /// the changes of a token "on the same connection" (Apple), and each connection belongs to one key.
    package mutating func replaceKey(_ keyID: DeveloperIdentifier) {
        self.encodedHeader = Self.header(keyID)
        self.keyCount += 1
        self.state = .empty
        self.frozenUntil = nil
        self.signingHeldUntil = nil
    }

    /// Asks for a token.
    ///
    /// A call between `.sign` and its signature returns the same bytes to sign.
    package mutating func authorize(now: NIODeadline, epochSeconds: UInt32) -> Answer {
        if let frozenUntil, now < frozenUntil { return .held(until: frozenUntil) }
        switch self.state {
        case .empty:
            return self.draft(after: nil, now: now, epochSeconds: epochSeconds)
        case .signing(let draft):
            return .sign(draft.input)
        case .minted(let minted):
            if !minted.isRefused, now < minted.mintedAt + Self.renewalAge { return .token(minted.token) }
            let floor = minted.mintedAt + Self.shortestInterval
            guard now >= floor else { return .held(until: floor) }
            return self.draft(after: minted, now: now, epochSeconds: epochSeconds)
        }
    }

    /// Takes the signature of the bytes of the last `.sign`: 64 bytes, r and s (RFC 7518, section 3.4).
    ///
    /// - Returns: the new token; if nothing was to be signed, the answer to a request for a token.
    package mutating func signed(_ signature: [UInt8], now: NIODeadline) -> Authorization {
        guard case .signing(let draft) = self.state else { return self.standing(now: now) }
        self.mintCount += 1
        let value = Array("bearer ".utf8) + draft.input + [UInt8(ascii: ".")] + Base64URL.encode(signature)
        self.state = .minted(
            Minted(
                token: ProviderToken(generation: self.mintCount, key: self.keyCount, headerValue: value),
                mintedAt: draft.draftedAt,
                issuedAt: draft.issuedAt
            )
        )
        self.signingHeldUntil = nil
        return self.standing(now: now)
    }

    /// Takes a token that another process made with the same key, in place of a signature of the bytes of the last `.sign`.
    ///
    /// - Parameter given: the token. Its signature is good.
    /// - Returns: the token; nil if it is of another key or team, due for renewal, of the future, or refused by APNs. Then sign.
    package mutating func adopt(_ given: GivenToken, now: NIODeadline, epochSeconds: UInt32) -> Authorization? {
        guard case .signing(let draft) = self.state, let issuedAt = given.issuedAt, issuedAt <= epochSeconds,
            given.text.prefix(while: { $0 != UInt8(ascii: ".") }).elementsEqual(self.encodedHeader),
            given.teamID == "\(self.teamID)"
        else { return nil }
        let age = TimeAmount.seconds(Int64(epochSeconds - issuedAt))
        let value = Array("bearer ".utf8) + given.text
        // A token that is older than this computer's clock would seem younger than it is.
        guard age < Self.renewalAge, Int64(clamping: now.uptimeNanoseconds) > age.nanoseconds,
            draft.previous?.token.headerValue != value
        else { return nil }
        self.mintCount += 1
        let minted = Minted(
            token: ProviderToken(generation: self.mintCount, key: self.keyCount, headerValue: value),
            mintedAt: now - age,
            issuedAt: issuedAt
        )
        self.state = .minted(minted)
        self.signingHeldUntil = nil
        return .token(minted.token)
    }

    /// Notes that the bytes of the last `.sign` cannot be signed.
    ///
    /// - Returns: the token before, while it is valid; otherwise how long signing waits.
    package mutating func signFailed(now: NIODeadline) -> Authorization {
        guard case .signing(let draft) = self.state else { return self.standing(now: now) }
        self.state = draft.previous.map { .minted($0) } ?? .empty
        self.signingHeldUntil = now + Self.signingBackOff
        return self.standing(now: now)
    }

    /// Takes APNs' judgement of a token. Ignores every other reason.
    ///
    /// - Parameter generation: the generation of the refused token. If an older token than the current one has expired,
    ///   nothing changes.
    package mutating func refused(_ reason: Reason, generation: UInt64, now: NIODeadline) {
        switch reason {
        case .expiredProviderToken:
            switch self.state {
            case .minted(var minted) where minted.token.generation == generation:
                minted.isRefused = true
                self.state = .minted(minted)
            case .signing(var draft) where draft.previous?.token.generation == generation:
                draft.previous?.isRefused = true
                self.state = .signing(draft)
            case .empty, .signing, .minted:
                break
            }
        case .tooManyProviderTokenUpdates:
            // The generation does not matter here, because the provider has changed its token too often.
            let end = now + Self.freeze
            self.frozenUntil = max(self.frozenUntil ?? end, end)
        default:
            break
        }
    }

    /// The time inside the current token (`iat`); nil before there is one.
    package var issuedAt: UInt32? {
        switch self.state {
        case .empty: nil
        case .signing(let draft): draft.previous?.issuedAt
        case .minted(let minted): minted.issuedAt
        }
    }

    private mutating func draft(after previous: Minted?, now: NIODeadline, epochSeconds: UInt32) -> Answer {
        if let signingHeldUntil, now < signingHeldUntil {
            if let previous, Self.isUsable(previous, now: now) { return .token(previous.token) }
            return .held(until: signingHeldUntil)
        }
        let claims = Base64URL.encode(#"{"iss":"\#(self.teamID)","iat":\#(epochSeconds)}"#.utf8)
        let input = self.encodedHeader + [UInt8(ascii: ".")] + claims
        self.state = .signing(Draft(input: input, draftedAt: now, issuedAt: epochSeconds, previous: previous))
        return .sign(input)
    }

    /// Returns the answer to a request for a token without a new signature.
    private func standing(now: NIODeadline) -> Authorization {
        if let frozenUntil, now < frozenUntil { return .held(until: frozenUntil) }
        if case .minted(let minted) = self.state {
            if Self.isUsable(minted, now: now) { return .token(minted.token) }
            let floor = minted.mintedAt + Self.shortestInterval
            if now < floor { return .held(until: floor) }
        }
        let backOff = now + Self.signingBackOff
        // Without a back-off, only a call of `signed` or `signFailed` at the wrong time gets here.
        return .held(until: self.signingHeldUntil.flatMap { now < $0 ? $0 : nil } ?? backOff)
    }

    private static func isUsable(_ minted: Minted, now: NIODeadline) -> Bool {
        !minted.isRefused && now < minted.mintedAt + Self.longestAge
    }
}
