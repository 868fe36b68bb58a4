import Ferry
import FerryCore
import Synchronization
import Testing

@testable import FerryCommand

@Suite(.timeLimit(.minutes(10))) struct LineLedgerTests {
    /// A provider that takes everything and gives no outcomes.
    private final class SilentProvider: PushProvider {
        private let count = Atomic<Int>(0)
        var taken: Int { self.count.load(ordering: .acquiring) }

        func submit(_ batch: inout PushBatch) async throws(SubmitError) {
            self.trySubmit(&batch)
        }

        func trySubmit(_ batch: inout PushBatch) {
            let count = batch.count
            _ = batch.takeFirst(count)
            self.count.add(count, ordering: .releasing)
        }

        func send(_ notification: PushNotification, to device: DeviceToken) async throws(SubmitError) -> Outcome {
            throw .shutDown
        }

        var outcomes: OutcomeStream { OutcomeStream(buffer: .empty) }

        var counts: OutcomeCounts { OutcomeCounts() }
        var lastError: ProviderError? { nil }

        func events(bufferingNewest limit: Int) -> ProviderEvents { EventHub().subscribe(bufferingNewest: limit) }

        func drain(within limit: Duration) async -> DrainReport {
            DrainReport(outcomes: OutcomeCounts(), unsettled: self.taken, contradicted: 0, resent: 0)
        }

        func shutDown(within limit: Duration, proof: Proof) async -> DrainReport { await self.drain(within: limit) }
    }

    static let kibibyte = String(repeating: "x", count: 1024)

    /// Lines with a `ref` of `kibibytes` KiB each.
    static func lines(_ count: Int, kibibytes: Int) -> String {
        let ref = String(repeating: Self.kibibyte, count: kibibytes)
        return String(repeating: #"{"token":"00","payload":{},"ref":"\#(ref)"}"# + "\n", count: count)
    }

    @Test func `lines with long references wait until earlier ones have their outcome`() async throws {
        try await TemporaryDirectory.with { directory in
            let provider = SilentProvider()
            let ledger = LineLedger(limit: 2 << 20)
            let stop = PushStop(provider, proof: .silence)
            let feeder = LineFeeder(
                reader: try LineReader(path: directory.write("lines", Self.lines(12, kibibytes: 768))),
                provider: provider,
                ledger: ledger,
                stop: stop,
                isStrict: false,
                rate: nil,
                topic: nil,
                check: .payload(limit: 2048),
                say: { _ in }
            )
            async let result = feeder.run()
            var index = LineIndex()
            var next: UInt64 = 0
            while next < 12 {
                #expect(try await eventually { provider.taken > next || ledger.isWaitedFor })
                let records = ledger.take().records
                // At most one set of records exceeds the limit.
                #expect(records.reduce(0) { $0 + $1.size } <= (2 << 20) + LineFeeder.recordLimit + (1 << 20))
                for record in records {
                    index.append(record)
                    for _ in 0..<record.count {
                        ledger.release(index.settle(record))
                        next += 1
                    }
                }
            }
            let (fed, failure) = await result
            #expect(fed.submitted == 12)
            #expect(failure == nil)
        }
    }

    @Test func `who waits for room is woken when the run is stopped`() async throws {
        let ledger = LineLedger(limit: 1)
        let records = LineRecords(first: 0, capacity: 1)
        Array("00".utf8).withUnsafeBufferPointer { records.append(0, ref: nil, hex: $0) }
        ledger.publish(records)
        let waiting = Task { await ledger.waitForRoom() }
        #expect(try await eventually { ledger.isWaitedFor })
        waiting.cancel()
        await waiting.value
        #expect(!ledger.isWaitedFor)
    }

    @Test func `records of a single line keep no more memory than they need`() {
        let ledger = LineLedger()
        let records = LineRecords(first: 0, capacity: 1024)
        Array("00ff".utf8).withUnsafeBufferPointer { records.append(0, ref: nil, hex: $0) }
        ledger.publish(records)
        #expect(records.size < 1024)
        var beginning: String?
        #expect(records.withBeginning(of: 0) { beginning = String(decoding: $0, as: UTF8.self) })
        #expect(beginning == #"{"token":"00ff""#)
    }
}
