internal import FerryCore
internal import NIOCore

/// Copies on the connection that was told.
extension ReplayFilter {
    /// Judges a notification that may be the copy of a follower of the connection that it came on. Clients that have not
    /// seen the end of a connection that was told write there.
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

    /// Whether the client circles, and sends this notification again elsewhere. If several of its connections were told, a
    /// circle may lead through all of them.
    private mutating func isCircle(_ offered: Follower, _ origin: Origin, _ index: Int) -> Bool {
        let isProven = if case .resends = self.replayClass { true } else { false }
        let row = self.rowOfCircle(origin, index, isProven: isProven)
        // Pushy's connections take turns, so that the first ones may go round elsewhere.
        let goRoundElsewhere = self.episodes.count > 1 || self.episodes[index].copyCount > 0
        let leftOut = origin.resemblesPushy && goRoundElsewhere ? GatewayBounds.leftOut : 0
        if self.episodes[index].circled(offered, row: row, leftOut: leftOut, isProven: isProven) { return true }
        if origin.resemblesPushy {
            let isOthers = self.episodes.indices.contains { $0 != index && self.episodes[$0].had(offered.key) }
            let isLate = self.episodes[index].circledLate(offered, isProven: isProven, isOthers: isOthers)
            if isLate { return true }
        }
        // A follower of another connection.
        guard self.episodes[index].isCircling, self.episodes[index].mayCircle else { return false }
        return self.episodes.contains { $0.isCircling && $0.had(offered.key) }
    }

    /// The number of first followers that have to come again in a row before they count as a circle; nil: any one is
    /// enough.
    private func rowOfCircle(_ origin: Origin, _ index: Int, isProven: Bool) -> Int? {
        // Pushy sends again what it wrote before it read the error response, too.
        if origin.resemblesPushy {
            return isProven || self.episodes.contains { $0.isCircling || $0.hasCopiesElsewhere } ? nil : 1
        }
        guard origin.mayHaveHeard else { return .max }
        // A client that sends copies elsewhere needs what it still writes here there, too.
        if self.episodes[index].hasCopiesElsewhere || self.episodes.contains(where: \.isCircling) { return nil }
        return self.episodes[index].isNamed ? GatewayBounds.circle : .max
    }

    /// Consumes the follower with the same identifier: this is its copy, and no other comes. Only the identifier tells it from
    /// a repeat: clients that number their notifications give a repeat a new one.
    private mutating func matchOwn(
        _ offered: Follower,
        _ identifier: UInt32,
        _ index: Int,
        now: NIODeadline,
        _ effects: inout [Effect]
    ) -> Episode.Match? {
        let match = self.episodes[index].matchInPlace(offered.key, identifier: identifier, now: now)
        guard let match else { return nil }
        // One connection tells one rejection, and has told it: no copy tells the follower's.
        self.drop([(match.job, match.fate)], &effects)
        self.episodes[index].planTrim(at: now + GatewayBounds.trimDelay)
        return match
    }
}
