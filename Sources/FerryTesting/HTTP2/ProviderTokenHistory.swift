package import FerryCore
package import NIOCore

/// The provider tokens that one connection has seen, and when that is too much.
///
/// The first token of a connection binds it to that token's key. Its first change is free, because a connection may
/// begin with a token that is about to be renewed; each further change must keep its distance from the one before.
///
/// Source: "Establishing a token-based connection to APNs" (Apple): "APNs report an error if you use a new token more
/// than once every 20 minutes on the same connection."
package struct ProviderTokenHistory: Sendable {
    private var updateInterval: TimeAmount
    private var current: ProviderTokenVerifier.Token?
    private var changedAt: NIODeadline?

    /// - Parameter updateInterval: how far apart changes must be.
    package init(updateInterval: TimeAmount = .minutes(20)) {
        self.updateInterval = updateInterval
    }

    /// Notes that a request carries `token`, which is good.
    ///
    /// - Returns: why it is refused nevertheless: ``Reason/unrelatedKeyIDInToken`` or
    ///   ``Reason/tooManyProviderTokenUpdates``. The token before stays good then.
    package mutating func use(_ token: ProviderTokenVerifier.Token, now: NIODeadline) -> Reason? {
        guard let current else {
            self.current = token
            return nil
        }
        if token.fingerprint == current.fingerprint { return nil }
        guard token.keyID == current.keyID, token.teamID == current.teamID else { return .unrelatedKeyIDInToken }
        if let changedAt, now < changedAt + self.updateInterval { return .tooManyProviderTokenUpdates }
        self.current = token
        self.changedAt = now
        return nil
    }
}
