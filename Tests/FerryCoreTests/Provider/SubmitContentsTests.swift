import FerryCore
import Synchronization
import Testing

@Suite struct SubmitContentsTests {
    @Test(arguments: [0, 1, 1023, 1024, 1025, 5000])
    func `Every element is submitted once, in order, in batches of at most 1,024`(count: Int) async throws {
        let provider = RecordingProvider()
        let notification = try PushNotification(json: [UInt8]("{}".utf8))
        let device = try DeviceToken([1])
        try await provider.submit(
            contentsOf: (0..<count).lazy.map { Submission(notification, to: device, tag: PushTag(UInt64($0))) }
        )
        let batches = provider.batches.withLock { $0 }
        #expect(batches.flatMap { $0 } == (0..<count).map { UInt64($0) })
        #expect(batches.allSatisfy { 1...1024 ~= $0.count })
    }

    @Test func `A provider that was shut down ends the sequence`() async throws {
        let provider = RecordingProvider(limit: 1)
        let notification = try PushNotification(json: [UInt8]("{}".utf8))
        let device = try DeviceToken([1])
        await #expect(throws: SubmitError.shutDown) {
            try await provider.submit(
                contentsOf: (0..<5000).lazy.map { Submission(notification, to: device, tag: PushTag(UInt64($0))) }
            )
        }
        #expect(provider.batches.withLock { $0.count } == 1)
    }
}

/// A provider that takes `limit` whole batches and is then shut down.
private final class RecordingProvider: PushProvider {
    let batches = Mutex<[[UInt64]]>([])
    private let limit: Int

    init(limit: Int = .max) {
        self.limit = limit
    }

    func submit(_ batch: inout PushBatch) async throws(SubmitError) {
        guard self.batches.withLock({ $0.count }) < self.limit else { throw .shutDown }
        self.trySubmit(&batch)
    }

    func trySubmit(_ batch: inout PushBatch) {
        let run = batch.takeFirst(batch.count)
        self.batches.withLock { $0.append((0..<run.count).map { run.entries[$0].tag }) }
    }

    func send(_ notification: PushNotification, to device: DeviceToken) async throws(SubmitError) -> Outcome {
        .expired
    }

    var outcomes: OutcomeStream { OutcomeStream(buffer: .empty) }

    var counts: OutcomeCounts { OutcomeCounts() }
    var lastError: ProviderError? { nil }

    func events(bufferingNewest: Int) -> ProviderEvents { EventHub().subscribe(bufferingNewest: bufferingNewest) }

    func drain(within limit: Duration) async -> DrainReport {
        DrainReport(outcomes: OutcomeCounts(), unsettled: 0, contradicted: 0, resent: 0)
    }

    func shutDown(within limit: Duration, proof: Proof) async -> DrainReport { await self.drain(within: limit) }
}
