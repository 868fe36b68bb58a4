internal import FerryCore
internal import Synchronization

/// Passes the outcomes of all event loops to one sink, so that its calls never overlap.
///
/// A loop that finds another one in the sink leaves its outcomes there, and does not wait, because an event loop may
/// have other users. The loop in the sink delivers them, too.
///
/// ```
///              nobody is in the sink                                nothing waits
///   outcomes ────────────────────────▶ in the sink: deliver all ───────────────────▶ leave
///      │                                   ▲             │ too many rounds
///      │ another loop is                   │             ▼
///      └─────────▶ waiting ────────────────┴── a loop that waits is woken and goes on
/// ```
///
/// The outcomes of one loop keep their order. Any thread may use it.
final class OutcomeMerger: Sendable {
    /// The number of calls that one loop makes for others before it returns to its own work.
    private static let roundLimit = 8

    private struct State {
        var isInSink = false
        var waiting: [OutcomeRecord] = []
        /// The loops whose outcomes wait.
        var waitingLoops = LoopSet()
        /// The other loops whose outcomes are in the present call.
        var calledLoops = LoopSet()
        /// The loops that want to know when their outcomes were delivered.
        var watchers = LoopSet()
    }

    private let sink: any OutcomeSink
    private let state = Locked(State())
    private let waitingCount = Atomic(0)

    init(_ sink: any OutcomeSink) {
        self.sink = sink
    }

    /// The number of outcomes that wait for a loop in the sink. They hold their places in the queue.
    var unreadCount: Int { self.waitingCount.load(ordering: .relaxed) }

    /// Delivers the outcomes of a loop, or leaves them to the loop that is in the sink. Returns the loops to wake.
    ///
    /// - Parameter isPatient: whether the loop, without other work, also delivers the outcomes that others leave there.
    func deliver(_ records: [OutcomeRecord], of loop: Int, isPatient: Bool = false) -> LoopSet {
        guard !records.isEmpty || self.unreadCount > 0 else { return LoopSet() }
        var next = self.state.withLock { state -> [OutcomeRecord]? in
            guard !state.isInSink else {
                self.leave(records, of: loop, in: &state)
                return nil
            }
            guard !state.waiting.isEmpty || !records.isEmpty else { return nil }
            state.isInSink = true
            guard !state.waiting.isEmpty else { return records }
            // The outcomes that a loop has left come before its new ones.
            self.leave(records, of: loop, in: &state)
            return self.takeWaiting(&state)
        }
        var woken = LoopSet()
        var rounds = 0
        while let records = next {
            self.sink.settled(records.span)
            rounds += 1
            next = self.state.withLock { state in
                woken.formUnion(state.watchers.take(state.calledLoops))
                state.calledLoops = LoopSet()
                guard !state.waiting.isEmpty, isPatient || rounds < Self.roundLimit else {
                    state.isInSink = false
                    // This one is woken, too, because the loop of another may have ended.
                    if !state.waiting.isEmpty { woken.formUnion(state.waitingLoops.union(loop)) }
                    return nil
                }
                return self.takeWaiting(&state)
            }
        }
        return woken
    }

    /// Whether outcomes of the loop are not delivered yet. If so, the loop is woken when they are.
    func holds(outcomesOf loop: Int) -> Bool {
        self.state.withLock { state in
            guard state.waitingLoops.contains(loop) || state.calledLoops.contains(loop) else { return false }
            state.watchers.insert(loop)
            return true
        }
    }

    private func leave(_ records: [OutcomeRecord], of loop: Int, in state: inout State) {
        guard !records.isEmpty else { return }
        state.waiting += records
        state.waitingLoops.insert(loop)
        self.waitingCount.store(state.waiting.count, ordering: .relaxed)
    }

    private func takeWaiting(_ state: inout State) -> [OutcomeRecord] {
        defer {
            state.waiting = []
            state.waitingLoops = LoopSet()
            self.waitingCount.store(0, ordering: .relaxed)
        }
        state.calledLoops = state.waitingLoops
        return state.waiting
    }
}
