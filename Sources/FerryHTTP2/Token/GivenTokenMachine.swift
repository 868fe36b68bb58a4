package import FerryCore
package import FerryMachine
package import NIOCore

/// The states of a provider token that is made elsewhere: when the machine asks for it, uses it, changes it and holds
/// it.
///
/// ```
///          ask                  given
///   empty ─────▶ (fetch) ─────────────────▶ taken ◀─┐ ask: that token; now and then (fetch)
///     ▲             │                        │ │ └──┘
///     └─────────────┘ notGiven               │ │ given: another one, if it may be changed
///                                            │ ▼
///                                            │ refused: ExpiredProviderToken, or an hour old:
///                                            └▶ held, and (fetch) each second until there is another
///
///   any state, refused: TooManyProviderTokenUpdates ──▶ frozen: held for 20 minutes, or until there is one of
///                                                       another key
/// ```
///
/// "APNs report an error if you use a new token more than once every 20 minutes on the same connection" (Apple). So a
/// token is kept for 20 minutes even if there is a newer one. A token of another key is used at once, because its
/// connections are new.
package struct GivenTokenMachine: Sendable {
    /// The answer to a request for a token.
    package enum Answer: Sendable, Equatable {
        /// Use this token.
        case token(ProviderToken)
        /// Look for a token at once, and call ``given(_:now:epochSeconds:)`` or ``notGiven(now:)``.
        case fetch
        /// No token may be used. Ask again at this time, which is in the future.
        case held(until: NIODeadline)
    }

    /// The reason why a given token is not used.
    package enum Fault: Error, Sendable, Equatable {
        /// The token is older than an hour by this computer's clock. `seconds` is its age.
        case expired(seconds: Int64)
        /// APNs has refused it as expired.
        case refused
    }

    private struct Taken {
        var token: ProviderToken
        var given: GivenToken
        var takenAt: NIODeadline
        /// An hour after it was made; nil when the token does not say.
        var expiresAt: NIODeadline?
        var isRefused = false

        func isUsable(_ now: NIODeadline) -> Bool {
            !self.isRefused && self.expiresAt.map { now < $0 } ?? true
        }
    }

    /// The interval between two looks for another token.
    package static let fetchInterval = TimeAmount.seconds(1)

    private var taken: Taken?
    private var nextFetch = NIODeadline.distantPast
    private var frozenUntil: NIODeadline?
    /// The reason why the last given token is not used; nil if it is used.
    package private(set) var fault: Fault?
    /// The number of tokens that were taken.
    package private(set) var count: UInt64 = 0
    /// The number of keys that the tokens came from.
    private var keyCount: UInt64 = 0

    package init() {}

    /// Asks for a token.
    package func authorize(now: NIODeadline) -> Answer {
        now < self.nextFetch ? self.standing(now: now) : .fetch
    }

    /// Takes the token that is available now. It may be the same as before.
    package mutating func given(_ given: GivenToken, now: NIODeadline, epochSeconds: UInt32) -> Authorization {
        self.nextFetch = now + Self.fetchInterval
        self.fault = nil
        if let taken, taken.given == given {
            self.fault = taken.isUsable(now) ? nil : self.fault(of: given, epochSeconds) ?? .refused
        } else if let fault = self.fault(of: given, epochSeconds) {
            self.fault = fault
        } else if self.mayChange(to: given, now: now) {
            self.take(given, now: now, epochSeconds: epochSeconds)
        }
        return self.authorization(now: now)
    }

    /// Notes that no token was available. The one before is used while it is valid.
    package mutating func notGiven(now: NIODeadline) -> Authorization {
        self.nextFetch = now + Self.fetchInterval
        return self.authorization(now: now)
    }

    /// Takes APNs' judgement of a token. Ignores every other reason.
    ///
    /// - Parameter generation: the generation of the refused token. If an older token than the current one has expired,
    ///   nothing changes.
    package mutating func refused(_ reason: Reason, generation: UInt64, now: NIODeadline) {
        switch reason {
        case .expiredProviderToken where self.taken?.token.generation == generation:
            self.taken?.isRefused = true
        case .tooManyProviderTokenUpdates:
            let end = now + ProviderTokenMachine.freeze
            self.frozenUntil = max(self.frozenUntil ?? end, end)
        default:
            break
        }
    }

    /// The token in use; nil before there is one.
    package var current: GivenToken? { self.taken?.given }

    private func fault(of given: GivenToken, _ epochSeconds: UInt32) -> Fault? {
        guard let issuedAt = given.issuedAt else { return nil }
        let age = Int64(epochSeconds) - Int64(issuedAt)
        return age >= ProviderTokenMachine.longestAge.nanoseconds / 1_000_000_000 ? .expired(seconds: age) : nil
    }

    private func mayChange(to given: GivenToken, now: NIODeadline) -> Bool {
        guard let taken, !self.isOfOtherKey(given) else { return true }
        // The interval counts from the first use. A token taken now could not be used while frozen.
        if let frozenUntil, now < frozenUntil { return false }
        let interval = ProviderTokenMachine.shortestInterval
        if taken.takenAt + interval <= now { return true }
        guard !taken.isUsable(now) else { return false }
        // The current token was already old when it was taken. The change is allowed if the two were made far enough
        // apart.
        guard let old = taken.given.issuedAt, let new = given.issuedAt else { return true }
        return Int64(new) - Int64(old) >= interval.nanoseconds / 1_000_000_000
    }

    private func isOfOtherKey(_ given: GivenToken) -> Bool {
        guard let old = self.taken?.given.keyID, let new = given.keyID else { return false }
        return old != new
    }

    private mutating func take(_ given: GivenToken, now: NIODeadline, epochSeconds: UInt32) {
        if self.taken == nil || self.isOfOtherKey(given) {
            self.keyCount += 1
            self.frozenUntil = nil
        }
        self.count += 1
        let expiresAt = given.issuedAt.map { issuedAt in
            now + ProviderTokenMachine.longestAge - .seconds(max(Int64(epochSeconds) - Int64(issuedAt), 0))
        }
        let value = Array("bearer ".utf8) + given.text
        self.taken = Taken(
            token: ProviderToken(generation: self.count, key: self.keyCount, headerValue: value, origin: .given),
            given: given,
            takenAt: now,
            expiresAt: expiresAt
        )
    }

    private func authorization(now: NIODeadline) -> Authorization {
        switch self.standing(now: now) {
        case .token(let token): .token(token)
        case .held(let until): .held(until: until)
        case .fetch: .held(until: self.nextFetch)
        }
    }

    /// Returns the answer to a request for a token without a fetch.
    private func standing(now: NIODeadline) -> Answer {
        // Ask again at the next fetch: there may be a token of another key before the freeze ends.
        if let frozenUntil, now < frozenUntil { return .held(until: min(frozenUntil, self.nextFetch)) }
        if let taken, taken.isUsable(now) { return .token(taken.token) }
        return .held(until: self.nextFetch)
    }
}
