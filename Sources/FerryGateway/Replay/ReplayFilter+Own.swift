internal import FerryCore
internal import NIOCore

/// Copies on the connection that was told.
extension ReplayFilter {
    /// Admits a notification that came on a connection after its error response. Returns nil if the notification is not
    /// recognized as a copy of a follower. A client goes on writing on that connection until it sees the end.
    mutating func admitOwn(
        _ offered: Follower,
        _ origin: Origin,
        now: NIODeadline,
        _ effects: inout [Effect]
    ) -> Admission? {
        guard let draining = origin.draining, let identifier = offered.identifier,
            let index = self.index(of: draining), self.episodes[index].mayComeInPlace(now: now)
        else { return nil }
        if let match = self.matchOwn(offered, identifier, index, now: now, &effects) {
            return .join(match.job, match.fate)
        }
        return self.isCircle(offered, origin, index) ? .circle : nil
    }

    /// Whether this notification is part of a circle, so that the client will send it once more on another connection.
    /// If several connections of the client were told, a circle may pass through all of them.
    private mutating func isCircle(_ offered: Follower, _ origin: Origin, _ index: Int) -> Bool {
        let isProven = if case .resends = self.replayClass { true } else { false }
        let row = self.rowOfCircle(origin, index, isProven: isProven)
        // Pushy's connections take turns, so the first followers may come again on other connections.
        let goRoundElsewhere = self.episodes.count > 1 || self.episodes[index].copyCount > 0
        let leftOut = origin.resemblesPushy && goRoundElsewhere ? GatewayBounds.leftOut : 0
        if self.episodes[index].circled(offered, row: row, leftOut: leftOut, isProven: isProven) { return true }
        if origin.resemblesPushy {
            let isOthers = self.episodes.indices.contains { $0 != index && self.episodes[$0].had(offered.key) }
            let isLate = self.episodes[index].circledLate(offered, isProven: isProven, isOthers: isOthers)
            if isLate { return true }
        }
        // The notification may be a follower of another connection.
        guard self.episodes[index].isCircling, self.episodes[index].mayCircle else { return false }
        return self.episodes.contains { $0.isCircling && $0.had(offered.key) }
    }

    /// The number of first followers that must come again in a row before they count as a circle; nil if a single
    /// follower at any position is enough; `Int.max` if no row is enough.
    private func rowOfCircle(_ origin: Origin, _ index: Int, isProven: Bool) -> Int? {
        // Pushy also repeats the notifications that it wrote before it read the error response.
        if origin.resemblesPushy {
            return isProven || self.episodes.contains { $0.isCircling || $0.hasCopiesElsewhere } ? nil : 1
        }
        guard origin.mayHaveHeard else { return .max }
        // A client that sends copies on other connections sends its later notifications there, too.
        if self.episodes[index].hasCopiesElsewhere || self.episodes.contains(where: \.isCircling) { return nil }
        return self.episodes[index].isNamed ? GatewayBounds.circle : .max
    }

    /// Consumes the follower with the same key and identifier. The offered notification is the follower's only copy.
    /// Only the identifier distinguishes the copy from a repeat, because clients that number their notifications give
    /// a repeat a new identifier.
    private mutating func matchOwn(
        _ offered: Follower,
        _ identifier: UInt32,
        _ index: Int,
        now: NIODeadline,
        _ effects: inout [Effect]
    ) -> Episode.Match? {
        let match = self.episodes[index].matchInPlace(offered.key, identifier: identifier, now: now)
        guard let match else { return nil }
        // The connection has told its one rejection, so a rejection of the follower is deferred.
        self.drop([(match.job, match.fate)], &effects)
        self.episodes[index].planTrim(now: now)
        return match
    }
}
