import FerryCore
import Synchronization
import Testing

@testable import Ferry

struct ObserverMergerTests {
    /// Adds up what it is told, and notes whether two calls overlapped.
    private final class Sum: ProviderObserver {
        private struct State {
            var taken = 0
            var calls = 0
            var isCalled = false
            var overlapped = false
            var last: ProviderActivity.Standing?
        }

        private let state = Mutex(State())
        private let duringCall: @Sendable (Int) -> Void

        init(during: @escaping @Sendable (Int) -> Void = { _ in }) {
            self.duringCall = during
        }

        func observed(_ activity: ProviderActivity) {
            let call = self.state.withLock { state in
                state.overlapped = state.overlapped || state.isCalled
                state.isCalled = true
                state.calls += 1
                return state.calls
            }
            self.duringCall(call)
            self.state.withLock { state in
                state.isCalled = false
                state.taken += activity.taken
                state.last = activity.standing
            }
        }

        var taken: Int { self.state.withLock { $0.taken } }
        var calls: Int { self.state.withLock { $0.calls } }
        var overlapped: Bool { self.state.withLock { $0.overlapped } }
        var last: ProviderActivity.Standing? { self.state.withLock { $0.last } }
    }

    private static func activity(taken: Int, queued: Int) -> ProviderActivity {
        var activity = ProviderActivity()
        activity.taken = taken
        activity.standing.queued = queued
        return activity
    }

    @Test func `the queues of all loops add up, and the reader's is theirs together`() {
        let sum = Sum()
        let merger = ObserverMerger(sum, loopCount: 2)
        _ = merger.tell(Self.activity(taken: 3, queued: 5), of: 0, unread: { 1 }, isPatient: false)
        _ = merger.tell(Self.activity(taken: 4, queued: 7), of: 1, unread: { 2 }, isPatient: false)
        #expect(sum.taken == 7)
        #expect(sum.last?.queued == 12)
        #expect(sum.last?.unread == 2)
    }

    @Test func `calls never overlap, and nothing is left untold`() async {
        let sum = Sum()
        let merger = ObserverMerger(sum, loopCount: 4)
        await withTaskGroup { group in
            for loop in 0..<4 {
                group.addTask {
                    for _ in 0..<2000 {
                        let isOwed = merger.tell(
                            Self.activity(taken: 1, queued: 0),
                            of: loop,
                            unread: { 0 },
                            isPatient: false
                        )
                        if isOwed { _ = merger.tell(nil, of: loop, unread: { 0 }, isPatient: true) }
                    }
                }
            }
        }
        while merger.owesCall { _ = merger.tell(nil, of: 0, unread: { 0 }, isPatient: true) }
        #expect(!sum.overlapped)
        #expect(sum.taken == 8000)
    }

    @Test func `a loop does not tell for others without end`() {
        let cell = Mutex<ObserverMerger?>(nil)
        let sum = Sum { call in
            guard call < 1000, let merger = cell.withLock({ $0 }) else { return }
            _ = merger.tell(Self.activity(taken: 1, queued: 0), of: 1, unread: { 0 }, isPatient: false)
        }
        let merger = ObserverMerger(sum, loopCount: 2)
        cell.withLock { $0 = merger }
        #expect(merger.tell(Self.activity(taken: 1, queued: 0), of: 0, unread: { 0 }, isPatient: false))
        #expect(sum.calls < 100)
        #expect(merger.owesCall)
        _ = merger.tell(nil, of: 0, unread: { 0 }, isPatient: true)
        #expect(!merger.owesCall)
        #expect(sum.taken == 1000)
        cell.withLock { $0 = nil }
    }
}
