internal import DequeModule
package import FerryCore
package import FerryMachine

/// The client's part in a migration between two protocols.
extension BinaryClient {
    package var hasUsableConnection: Bool {
        self.lanes.contains { lane in
            if lane.connection.isWaiting { return !lane.failures.hasFailed }
            return lane.connection.establishedID != nil && !lane.connection.isFinishing
        }
    }

    /// Returns whether the binary protocol can carry the notification. Its payload must be short enough, and its topic
    /// must be one of the certificate's, because the protocol has no topic. It has no push type either, so types that
    /// Apple added for HTTP/2 alone would look like alerts.
    package func takes(_ run: BatchRun, at index: Int) -> Bool { self.takes(run.entries[index], run, at: index) }

    package func refusal(of run: BatchRun, at index: Int) -> Rejection? {
        let entry = run.entries[index]
        if self.takes(entry, run, at: index) { return nil }
        if Int(entry.payloadLength) > self.options.payloadLimit { return self.payloadRejection(of: entry) }
        guard !entry.fields.isBroadcast, Self.pushTypes >> UInt16(entry.pushType) & 1 != 0 else {
            let details = "The binary protocol names no push type, and this one needs HTTP/2."
            return Rejection(reason: .invalidPushType, origin: .ferry, details: details)
        }
        let details = "The binary protocol names no topic, and the certificate has another one."
        return Rejection(reason: .topicDisallowed, origin: .ferry, details: details)
    }

    /// The rejection of a payload that is too long.
    func payloadRejection(of entry: BatchEntry) -> Rejection {
        Rejection(
            reason: .payloadTooLarge,
            origin: .ferry,
            status: Int(BinaryStatus.invalidPayloadSize.rawValue),
            details: PayloadLimit.fault(length: Int(entry.payloadLength), limit: self.options.payloadLimit).asSentence
        )
    }

    package func takesAll(_ run: BatchRun) -> Bool {
        let entries = run.entries
        return (0..<run.count).allSatisfy { self.takes(entries[$0], run, at: $0) }
    }

    @inline(__always)
    private func takes(_ entry: BatchEntry, _ run: BatchRun, at index: Int) -> Bool {
        guard Int(entry.payloadLength) <= self.options.payloadLimit, !entry.fields.isBroadcast,
            Self.pushTypes >> UInt16(entry.pushType) & 1 != 0
        else { return false }
        guard let topics, entry.topicLength > 0 else { return true }
        return run.withTopic(at: index) { topic in topics.contains { $0.elementsEqual(topic) } }
    }

    /// The push types that the binary protocol delivered, one bit for each ``PushType/code``; bit 0 is for no push
    /// type. A topic with a suffix, as for voip and complication, needs a certificate with that topic.
    ///
    /// The value is bits and not a set, because each notification is looked up.
    private static let pushTypes: UInt16 = [PushType.alert, .background, .voip, .complication, .fileprovider, .mdm]
        .reduce(1) { $0 | 1 << UInt16($1.code) }

    package func visitUnsettled(inFlight isInFlight: Bool, _ visit: (BatchEntry) -> Void) {
        for lane in self.lanes {
            for written in lane.connection.cache.unsettled { written.run.forEachUnsettled(visit) }
            if !isInFlight { lane.queue.forEach { $0.forEachUnsettled(visit) } }
        }
    }

    package mutating func recall(tainted: Bool, where isMeant: (BatchEntry) -> Bool, now: Moment) -> [BatchRun] {
        var recalled: [BatchRun] = []
        for lane in self.lanes {
            let runs = lane.takeQueued { !$0.marks.isSettled && (tainted || !$0.marks.isTainted) && isMeant($0) }
            self.suspectsLeft(lane, runs, now: now)
            recalled += runs
        }
        if self.lanes.count > 1 { recalled.sort { $0.precedes($1) } }
        self.checkCompleted(now: now)
        return recalled
    }
}
