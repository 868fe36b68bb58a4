import FerryCore
import Synchronization
import Testing

@testable import Ferry

struct OutcomeMergerTests {
    /// Notes the order of outcomes, and whether two calls overlapped.
    private final class Sink: OutcomeSink {
        private struct State {
            var isCalled = false
            var overlapped = false
            var tags: [UInt64] = []
        }

        private let state = Mutex(State())
        private let duringCall: Mutex<(@Sendable () -> Void)?> = Mutex(nil)

        func settled(_ outcomes: Span<OutcomeRecord>) {
            self.state.withLock { state in
                state.overlapped = state.overlapped || state.isCalled
                state.isCalled = true
            }
            self.duringCall.withLock { $0 }?()
            self.state.withLock { state in
                for index in outcomes.indices { state.tags.append(outcomes[index].tag.rawValue) }
                state.isCalled = false
            }
        }

        func during(_ body: (@Sendable () -> Void)?) { self.duringCall.withLock { $0 = body } }

        var tags: [UInt64] { self.state.withLock { $0.tags } }
        var overlapped: Bool { self.state.withLock { $0.overlapped } }
    }

    private static func records(_ tags: Range<UInt64>) -> [OutcomeRecord] {
        tags.map { OutcomeRecord(tag: PushTag($0), outcome: .accepted(.confirmed)) }
    }

    @Test func `a loop that finds another in the sink leaves its outcomes there, and is woken if it waits`() {
        let sink = Sink()
        let merger = OutcomeMerger(sink)
        let isFirst = Atomic(true)
        sink.during {
            guard isFirst.exchange(false, ordering: .relaxed) else { return }
            #expect(merger.deliver(Self.records(10..<12), of: 1).isEmpty)
            #expect(merger.unreadCount == 2)
            #expect(merger.holds(outcomesOf: 1))
            #expect(!merger.holds(outcomesOf: 0))
        }
        let woken = merger.deliver(Self.records(0..<2), of: 0)
        #expect(woken.contains(1) && !woken.contains(0))
        #expect(sink.tags == [0, 1, 10, 11])
        #expect(merger.unreadCount == 0)
        #expect(!merger.holds(outcomesOf: 1))
    }

    @Test func `a loop does not deliver for others without end`() {
        let sink = Sink()
        let merger = OutcomeMerger(sink)
        let calls = Atomic(UInt64(0))
        sink.during {
            let call = calls.add(1, ordering: .relaxed).newValue
            _ = merger.deliver(Self.records(call..<call + 1), of: 1)
        }
        let woken = merger.deliver(Self.records(0..<1), of: 0)
        #expect(merger.unreadCount == 1)
        #expect(woken.contains(0) && woken.contains(1))
        sink.during(nil)
        _ = merger.deliver([], of: 1)
        #expect(merger.unreadCount == 0)
        #expect(sink.tags == Array(0..<calls.load(ordering: .relaxed) + 1))
    }

    @Test func `calls from several threads never overlap, and each loop keeps its order`() async {
        let sink = Sink()
        let merger = OutcomeMerger(sink)
        await withTaskGroup { group in
            for loop in 0..<4 {
                group.addTask {
                    for number in 0..<2000 {
                        let tag = UInt64(loop) << 32 | UInt64(number)
                        _ = merger.deliver(Self.records(tag..<tag + 1), of: loop)
                    }
                }
            }
        }
        while merger.unreadCount > 0 { _ = merger.deliver([], of: 0) }
        #expect(!sink.overlapped)
        let tags = sink.tags
        #expect(tags.count == 8000)
        for loop in 0..<UInt64(4) {
            let numbers = tags.filter { $0 >> 32 == loop }
            #expect(numbers == numbers.sorted())
        }
    }
}
