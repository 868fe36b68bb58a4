internal import FerryGateway
internal import FerryShards
internal import NIOCore

/// Commits of one segment, one at a time. They are made on the store's event loop, as the commits of a gateway are.
struct StoreCommits: Sendable {
    let store: PostgresStore
    let epoch: UInt64
    let segment: [UInt8]
    let eventLoop: any EventLoop

    /// Commits the segment under these numbers.
    ///
    /// - Throws: ``BenchImbalance`` when a commit is not durable.
    func run(_ numbers: Range<UInt64>) async throws -> Latencies {
        let end = self.eventLoop.makePromise(of: Void.self)
        let times = NIOLoopBoundBox.makeBoxSendingValue([UInt64](), eventLoop: self.eventLoop)
        self.eventLoop.execute { self.commit(numbers, times, end) }
        try await end.futureResult.get()
        return try await self.eventLoop.submit { Latencies(nanoseconds: times.value) }.get()
    }

    private func commit(
        _ numbers: Range<UInt64>,
        _ times: NIOLoopBoundBox<[UInt64]>,
        _ end: EventLoopPromise<Void>
    ) {
        guard let number = numbers.first else { return end.succeed() }
        let begin = ProcessMeter.now
        let commit = StoreCommit(epoch: self.epoch, segment: StoredSegment(number: number, bytes: self.segment))
        self.store.append(commit) { answer in
            guard answer == .durable else {
                return end.fail(BenchImbalance(description: "The commit \(number) has the answer \(answer)."))
            }
            times.value.append(ProcessMeter.now - begin)
            self.commit(numbers.dropFirst(), times, end)
        }
    }
}
