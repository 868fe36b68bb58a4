package import FerryCore
package import NIOCore

/// The provider tokens of one connection, and the check that they do not change too often.
///
/// The first token of a connection binds the connection to that token's key. The first change is always allowed,
/// because a connection may begin with a token that is about to be renewed. Each further change must wait for the
/// interval since the previous change.
///
/// Source: "Establishing a token-based connection to APNs" (Apple): "APNs report an error if you use a new token more
/// than once every 20 minutes on the same connection."
package struct ProviderTokenHistory: Sendable {
    private var updateInterval: TimeAmount
    private var current: ProviderTokenVerifier.Token?
    private var changedAt: NIODeadline?

    /// - Parameter updateInterval: the shortest time between two changes.
    package init(updateInterval: TimeAmount = .minutes(20)) {
        self.updateInterval = updateInterval
    }

    /// Records that a request has `token`, which is valid.
    ///
    /// - Returns: the reason to refuse it nevertheless: ``Reason/unrelatedKeyIDInToken`` or
    ///   ``Reason/tooManyProviderTokenUpdates``. Then the previous token stays valid.
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
