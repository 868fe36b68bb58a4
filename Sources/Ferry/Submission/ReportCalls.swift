internal import FerryCore

/// The calls, from any thread, that wait until every event loop of a provider has answered.
///
/// Once the provider has ended (by its shutdown, or because a loop ended), every call is answered at once, without the
/// loops.
final class ReportCalls: Sendable {
    private struct Waiter {
        var receive: @Sendable (DrainReport) -> Void
        /// The loops that have not answered.
        var loops: LoopSet
        /// The loops that answered because the limit had passed.
        var late = LoopSet()
    }

    private struct State {
        var waiting: [UInt64: Waiter] = [:]
        var lastCall: UInt64 = 0
        var final: DrainReport?
    }

    private let state = Locked(State())
    private let loops: LoopSet

    init(loopCount: Int = 1) {
        self.loops = LoopSet(first: loopCount)
    }

    /// Whether the provider has ended.
    var haveEnded: Bool { self.state.withLock { $0.final != nil } }

    /// Passes the number of the call to `ask`, and waits for the answer.
    func wait(_ ask: (UInt64) -> Void) async -> DrainReport {
        await withCheckedContinuation { continuation in
            self.call(ask) { continuation.resume(returning: $0) }
        }
    }

    /// Passes the number of the call to `ask`. The answer goes to `receive` once, on any thread.
    func call(_ ask: (UInt64) -> Void, receive: @escaping @Sendable (DrainReport) -> Void) {
        var call: UInt64 = 0
        let final = self.state.withLock { state -> DrainReport? in
            if let final = state.final { return final }
            state.lastCall += 1
            call = state.lastCall
            state.waiting[call] = Waiter(receive: receive, loops: self.loops)
            return nil
        }
        if let final { receive(final) } else { ask(call) }
    }

    /// Notes the answer of a loop to a call. The last of the loops answers the call.
    ///
    /// - Parameters:
    ///   - isLate: whether the loop answers because the limit has passed.
    ///   - report: returns the report of all loops, with the unsettled notifications of the late ones.
    func answer(_ call: UInt64, from loop: Int, isLate: Bool, with report: (_ late: LoopSet) -> DrainReport) {
        let waiter = self.state.withLock { state -> Waiter? in
            state.waiting[call]?.loops.remove(loop)
            if isLate { state.waiting[call]?.late.insert(loop) }
            guard state.waiting[call]?.loops.isEmpty == true else { return nil }
            return state.waiting.removeValue(forKey: call)
        }
        if let waiter { waiter.receive(report(waiter.late)) }
    }

    /// Answers all calls: those that wait, and every later one.
    func end(with report: DrainReport) {
        let waiting = self.state.withLock { state in
            state.final = report
            defer { state.waiting = [:] }
            return state.waiting.values
        }
        for waiter in waiting { waiter.receive(report) }
    }
}
