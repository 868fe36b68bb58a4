import FerryCore
import Logging
import NIOCore
import NIOEmbedded
import Synchronization
import Testing

@testable import Ferry

struct ProviderCommonsTests {
    /// A driver that only counts how often it is woken.
    private final class Loop: ProviderLoop {
        let eventLoop: any EventLoop = NIOAsyncTestingEventLoop()
        let index: Int
        let hasEnded = false
        private let wakeCount = Atomic(0)

        init(_ index: Int) {
            self.index = index
        }

        var wakes: Int { self.wakeCount.load(ordering: .relaxed) }

        func wake() { self.wakeCount.add(1, ordering: .relaxed) }
        func drain(within limit: TimeAmount, call: UInt64) {}
        func shutDown(within limit: TimeAmount, proof: Proof, call: UInt64) {}
        func abandon(undelivered: Outcome.UndeliveredCause, uncertain: Outcome.UncertainCause) {}
    }

    private static func commons(_ outcomes: OutcomeDelivery, queueLimit: Int = 100) -> ProviderCommons {
        ProviderCommons(
            loopCount: 2,
            outcomes: outcomes,
            queueLimit: queueLimit,
            observer: nil,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
    }

    private static func records(_ tags: Range<UInt64>) -> [OutcomeRecord] {
        tags.map { OutcomeRecord(tag: PushTag($0), outcome: .accepted(.confirmed)) }
    }

    @Test func `a loop that stopped for a full stream is woken when another gives it to the reader`() async throws {
        let commons = Self.commons(.stream, queueLimit: 2)
        let loops = [Loop(0), Loop(1)]
        for loop in loops { commons.loops.append(loop) }
        let stream = try #require(commons.stream)
        async let read = stream.next()
        while !stream.hasReader { await Task.yield() }
        commons.deliver(Self.records(0..<2), of: 0, isPatient: false)
        #expect(commons.isFull(for: 1))
        commons.wakeReader()
        #expect(await read.count == 2)
        #expect(!commons.isFull(for: 1))
        #expect(loops[1].wakes == 1)
    }

    @Test func `everything is completed when the last loop is, and not when a loop has got more`() async throws {
        let commons = Self.commons(.discard)
        let events = commons.events.subscribe(bufferingNewest: 10)
        commons.queue.occupy(0, queued: 0, delayed: 0, isBusy: true) { 0 }
        commons.queue.occupy(1, queued: 0, delayed: 0, isBusy: true) { 0 }
        commons.send(.completed, of: nil, from: 0, isBusy: false)
        commons.send(.completed, of: nil, from: 1, isBusy: true)
        commons.send(.completed, of: nil, from: 1, isBusy: false)
        commons.events.finish()
        var count = 0
        for await case .completed in events { count += 1 }
        #expect(count == 1)
    }

    @Test func `an answer on any loop ends the trouble, and later trouble on any loop stands`() {
        let commons = Self.commons(.discard)
        let error = ProviderError(.connectionLost, "The connection is gone.")
        commons.publish(.init(trouble: error), of: 0)
        #expect(commons.trouble == error)
        commons.publish(.init(answered: 5), of: 1)
        #expect(commons.trouble == nil)
        let later = ProviderError(.connectFailed, "Nobody is there.")
        commons.publish(.init(answered: 5, trouble: later), of: 1)
        #expect(commons.trouble == later)
    }

    @Test func `what a loop got after its answer to a drain does not count`() {
        let commons = Self.commons(.discard)
        commons.publish(.init(unsettled: 7), of: 0)
        commons.publish(.init(unsettled: 2), of: 1)
        var late = LoopSet()
        #expect(commons.report(unsettledOf: late).unsettled == 0)
        late.insert(1)
        #expect(commons.report(unsettledOf: late).unsettled == 2)
    }
}
