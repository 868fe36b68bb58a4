internal import FerryCore
internal import FerryMachine

/// The choice of the lane in which a notification waits.
extension BinaryClient {
    /// The number of notifications that change their lane at a time.
    static let spillSize = 256

    /// Spreads a run over the lanes by device token, so that the notifications of one device keep their order.
    func distribute(_ run: BatchRun) {
        func home(_ index: Int) -> Int { Int(run.entries[index].tokenHash) % self.lanes.count }
        guard self.lanes.count > 1, run.count > 1 else { return self.lanes[home(0)].insert(run) }
        var sizes = Array(repeating: (count: 0, bytes: 0), count: self.lanes.count)
        for index in 0..<run.count {
            sizes[home(index)].count += 1
            sizes[home(index)].bytes += run.storage.byteCount(at: run.start + index)
        }
        let parts = sizes.map { size in
            size.count == 0 ? nil : BatchStorage(capacity: size.count, arenaCapacity: size.bytes)
        }
        for index in 0..<run.count {
            parts[home(index)]?.append(from: run.storage, at: run.start + index)
        }
        for (lane, part) in zip(self.lanes, parts) {
            guard let part else { continue }
            part.seal()
            lane.insert(BatchRun(storage: part, start: 0, count: part.count, order: run.order, isCopy: run.isCopy))
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
        // After a failure, or because the client may not dial now.
        case .waiting: true
        case .open(let open):
            !open.isWritable || lane.window.size.map { $0 <= lane.connection.cache.unsettledCount } ?? false
        case .probing: true
        case .finishing: true
        }
    }
}
