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
///          ask                 signed, adopted
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
///
/// Processes that share their tokens adopt the token that stands in the shared place. A token that a process signed while
/// the place was away is *alone*: it is renewed when it is 20 minutes old, so that all soon have the same one again. A token
/// that APNs refused, or that is an hour old, is *worn*: it is not adopted again, and the owner asks the place to replace it.
package struct ProviderTokenMachine: Sendable {
    /// The answer to a request for a token.
    package enum Answer: Sendable, Equatable {
        /// Use this token.
        case token(ProviderToken)
        /// Sign these bytes by ES256 at once. Pass the signature to ``signed(_:now:alone:)``, or a token that another
        /// process signed to ``adopt(_:age:now:)``, or call ``signFailed(now:)``.
        case sign([UInt8])
        /// No token may be used. Ask again at this time, which is in the future.
        case held(until: NIODeadline)
    }

    private struct Minted {
        var token: ProviderToken
        /// The time at which it is an hour old. The time at which it was made may lie before the clock's zero.
        var expiresAt: NIODeadline
        /// `iat`
        var issuedAt: UInt32
        var isRefused = false
        /// Whether it should have been shared, and is not.
        var isAlone = false

        /// Returns the time at which the token has an age.
        func reaches(_ age: TimeAmount) -> NIODeadline { self.expiresAt - (ProviderTokenMachine.longestAge - age) }

        var renewedAt: NIODeadline {
            self.reaches(self.isAlone ? ProviderTokenMachine.shortestInterval : ProviderTokenMachine.renewalAge)
        }

        func isUsable(_ now: NIODeadline) -> Bool { !self.isRefused && now < self.expiresAt }
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
    /// The age at which bytes to sign are made anew, because their time is in the token.
    package static let longestDraft = TimeAmount.seconds(5)

    private let teamID: DeveloperIdentifier
    private var encodedHeader: [UInt8]
    private var keyCount: UInt64 = 1
    private var state = State.empty
    private var frozenUntil: NIODeadline?
    private var signingHeldUntil: NIODeadline?
    /// The last worn token, with `bearer`.
    private var worn: [UInt8]?
    /// The number of tokens that were made or adopted.
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
        self.worn = nil
    }

    /// Asks for a token.
    ///
    /// A call between `.sign` and its signature returns the same bytes to sign, for ``longestDraft``.
    package mutating func authorize(now: NIODeadline, epochSeconds: UInt32) -> Answer {
        if let frozenUntil, now < frozenUntil { return .held(until: frozenUntil) }
        switch self.state {
        case .empty:
            return self.draft(after: nil, now: now, epochSeconds: epochSeconds)
        case .signing(let draft):
            guard draft.draftedAt + Self.longestDraft <= now else { return .sign(draft.input) }
            return self.draft(after: draft.previous, now: now, epochSeconds: epochSeconds)
        case .minted(let minted):
            if !minted.isRefused, now < minted.renewedAt { return .token(minted.token) }
            let floor = minted.reaches(Self.shortestInterval)
            guard now >= floor else { return .held(until: floor) }
            return self.draft(after: minted, now: now, epochSeconds: epochSeconds)
        }
    }

    /// Takes the signature of the bytes of the last `.sign`: 64 bytes, r and s (RFC 7518, section 3.4).
    ///
    /// - Parameter isAlone: whether the token should have been shared, and is not.
    /// - Returns: the new token; if nothing was to be signed, the answer to a request for a token.
    package mutating func signed(_ signature: [UInt8], now: NIODeadline, alone isAlone: Bool = false) -> Authorization {
        guard case .signing(let draft) = self.state else { return self.standing(now: now) }
        self.mintCount += 1
        let value = Array("bearer ".utf8) + draft.input + [UInt8(ascii: ".")] + Base64URL.encode(signature)
        self.state = .minted(
            Minted(
                token: ProviderToken(generation: self.mintCount, key: self.keyCount, headerValue: value),
                expiresAt: draft.draftedAt + Self.longestAge,
                issuedAt: draft.issuedAt,
                isAlone: isAlone
            )
        )
        self.signingHeldUntil = nil
        return self.standing(now: now)
    }

    /// Takes the token that all processes with the key share, in place of a signature of the bytes of the last `.sign`.
    ///
    /// - Parameters:
    ///   - given: the token. Its signature is good.
    ///   - age: how long ago it was made. The time inside it does not count, because another computer's clock wrote it.
    /// - Returns: the token; nil if it is of another key or team, worn, or an hour old, and if it is the token in use, which
    ///   is due for renewal. Then sign, or call ``signFailed(now:)``.
    package mutating func adopt(_ given: GivenToken, age: TimeAmount, now: NIODeadline) -> Authorization? {
        guard case .signing(let draft) = self.state, let issuedAt = given.issuedAt,
            given.text.prefix(while: { $0 != UInt8(ascii: ".") }).elementsEqual(self.encodedHeader),
            given.teamID == "\(self.teamID)"
        else { return nil }
        let value = Self.headerValue(given)
        let expiresAt = now + (Self.longestAge - max(age, .zero))
        var minted: Minted
        if let previous = draft.previous, previous.token.headerValue == value {
            // The place's clock may have been set back. A token does not become younger.
            minted = previous
            minted.expiresAt = min(minted.expiresAt, expiresAt)
            minted.isAlone = false
            guard now < minted.renewedAt else { return nil }
        } else {
            let token = ProviderToken(generation: self.mintCount + 1, key: self.keyCount, headerValue: value)
            minted = Minted(token: token, expiresAt: expiresAt, issuedAt: issuedAt)
        }
        guard value != self.worn, minted.isUsable(now) else { return nil }
        self.mintCount = minted.token.generation
        self.state = .minted(minted)
        self.signingHeldUntil = nil
        return self.standing(now: now)
    }

    private static func headerValue(_ given: GivenToken) -> [UInt8] { Array("bearer ".utf8) + given.text }

    /// The token that the shared place must replace, without `bearer`: APNs refused it, or it is an hour old.
    package var wornToken: ArraySlice<UInt8>? { self.worn?.dropFirst("bearer ".utf8.count) }

    /// Returns whether the shared place may answer with this token once more, and is not broken: the token is worn, or in use
    /// and due, and by this computer's clock it is less than an hour old.
    package func isPatient(with given: GivenToken, now: NIODeadline) -> Bool {
        guard case .signing(let draft) = self.state, let previous = draft.previous else { return false }
        return previous.token.headerValue == Self.headerValue(given) && now < previous.expiresAt
    }

    /// The token in use while the bytes of the last `.sign` are not signed; nil before the first token.
    package func meanwhile(now: NIODeadline) -> ProviderToken? {
        guard case .signing(let draft) = self.state, let previous = draft.previous, previous.isUsable(now) else {
            return nil
        }
        return previous.token
    }

    /// Notes that the bytes of the last `.sign` cannot be signed.
    ///
    /// - Returns: the token before, while it is valid; otherwise how long signing waits.
    package mutating func signFailed(now: NIODeadline) -> Authorization {
        guard case .signing(let draft) = self.state else { return self.standing(now: now) }
        self.state = draft.previous.map { .minted($0) } ?? .empty
        let backOff = now + Self.signingBackOff
        // When the token before is too old, there may be another way to one.
        self.signingHeldUntil =
            if let previous = draft.previous, previous.isUsable(now) { min(backOff, previous.expiresAt) } else {
                backOff
            }
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
                self.worn = minted.token.headerValue
                self.state = .minted(minted)
            case .signing(var draft) where draft.previous?.token.generation == generation:
                draft.previous?.isRefused = true
                self.worn = draft.previous?.token.headerValue
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
            if let previous, previous.isUsable(now) { return .token(previous.token) }
            return .held(until: signingHeldUntil)
        }
        if let previous, !previous.isUsable(now) { self.worn = previous.token.headerValue }
        let claims = Base64URL.encode(#"{"iss":"\#(self.teamID)","iat":\#(epochSeconds)}"#.utf8)
        let input = self.encodedHeader + [UInt8(ascii: ".")] + claims
        self.state = .signing(Draft(input: input, draftedAt: now, issuedAt: epochSeconds, previous: previous))
        return .sign(input)
    }

    /// Returns the answer to a request for a token without a new signature.
    private func standing(now: NIODeadline) -> Authorization {
        if let frozenUntil, now < frozenUntil { return .held(until: frozenUntil) }
        if case .minted(let minted) = self.state {
            if minted.isUsable(now) { return .token(minted.token) }
            let floor = minted.reaches(Self.shortestInterval)
            if now < floor { return .held(until: floor) }
        }
        let backOff = now + Self.signingBackOff
        // Without a back-off, only a call of `signed` or `signFailed` at the wrong time gets here.
        return .held(until: self.signingHeldUntil.flatMap { now < $0 ? $0 : nil } ?? backOff)
    }
}
