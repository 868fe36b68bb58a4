internal import DequeModule
package import FerryCore
package import FerryMachine

/// What a migration between two protocols asks of the client.
extension BinaryClient {
    package var hasUsableConnection: Bool {
        self.lanes.contains { lane in
            if lane.connection.isWaiting { return !lane.failures.hasFailed }
            return lane.connection.establishedID != nil && !lane.connection.isFinishing
        }
    }

    /// Returns whether the binary protocol can carry the notification: its payload is short enough, and its topic is one of
    /// the certificate's, because the protocol names none. It names no push type either, so what Apple added for HTTP/2 alone
    /// cannot be told from an alert.
    package func takes(_ run: BatchRun, at index: Int) -> Bool {
        let entry = run.entries[index]
        guard Int(entry.payloadLength) <= self.options.payloadLimit, !entry.fields.isBroadcast,
            Self.pushTypes.contains(entry.pushType)
        else { return false }
        guard let topics, entry.topicLength > 0 else { return true }
        return run.topic(at: index).map { topics.contains($0) } ?? true
    }

    /// The push types that the binary protocol delivered; 0: none is named. A topic with a suffix, as voip and complication
    /// have it, needs a certificate with that topic.
    private static let pushTypes = Set(
        [PushType.alert, .background, .voip, .complication, .fileprovider, .mdm].map(\.code) + [0]
    )

    package func visitUnsettled(inFlight isInFlight: Bool, _ visit: (BatchEntry) -> Void) {
        for lane in self.lanes {
            for written in lane.connection.cache.unsettled { written.run.forEachUnsettled(visit) }
            if !isInFlight { lane.queue.forEach { $0.forEachUnsettled(visit) } }
        }
    }

    package func takesAll(_ run: BatchRun) -> Bool { (0..<run.count).allSatisfy { self.takes(run, at: $0) } }

    package mutating func recall(tainted: Bool, where isMeant: (BatchEntry) -> Bool, now: Moment) -> [BatchRun] {
        var recalled: [BatchRun] = []
        for lane in self.lanes {
            recalled += lane.takeQueued { !$0.marks.isSettled && (tainted || !$0.marks.isTainted) && isMeant($0) }
        }
        if self.lanes.count > 1 { recalled.sort { $0.precedes($1) } }
        self.checkCompleted(now: now)
        return recalled
    }
}
