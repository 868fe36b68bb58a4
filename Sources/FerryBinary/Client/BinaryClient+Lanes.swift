internal import FerryCore
internal import FerryMachine

/// The choice of the lane in which a notification waits.
extension BinaryClient {
    /// The number of notifications that change their lane at a time.
    static let spillSize = 256

    /// Spreads a run over the lanes by device token, so that the notifications of one device keep their order.
    func distribute(_ run: BatchRun) {
        let count = self.lanes.count
        func home(_ entry: BatchEntry) -> Int { Int(entry.tokenHash) % count }
        guard count > 1, run.count > 1 else { return self.lanes[home(run.entries[0])].insert(run) }
        for (lane, part) in zip(self.lanes, run.split(into: count, by: home)) {
            if let part { lane.insert(part) }
        }
    }

    /// Moves work to `lane` from a lane that cannot send it now.
    func spill(to lane: Lane) {
        guard self.lanes.count > 1, lane.search == nil, self.room(lane) > 0 else { return }
        for donor in self.lanes where donor !== lane && Self.isBlocked(donor) {
            guard let run = donor.takeQueued(atMost: Self.spillSize) else { continue }
            return lane.append(run)
        }
    }

    private static func isBlocked(_ lane: Lane) -> Bool {
        // A lane that searches for a culprit neither gives nor takes work.
        guard !lane.queue.isEmpty, lane.search == nil else { return false }
        return switch lane.connection.state {
        case .idle: lane.failures.hasFailed
        case .dialling: lane.failures.hasFailed
        // The lane waits after a failure, or because the client may not dial now.
        case .waiting: true
        case .open(let open):
            !open.isWritable || lane.window.size.map { $0 <= lane.connection.cache.unsettledCount } ?? false
        case .probing: true
        case .finishing: true
        }
    }
}
