internal import FerryCore
internal import Synchronization

/// The calls, from any thread, that wait for a report from a provider's event loop.
///
/// Once the provider has ended (by its shutdown, or because its loop ended), every call is answered at once, without
/// the loop.
final class ReportCalls: Sendable {
    private typealias Continuation = CheckedContinuation<DrainReport, Never>

    private struct State {
        var waiting: [UInt64: Continuation] = [:]
        var lastCall: UInt64 = 0
        var final: DrainReport?
    }

    private let state = Mutex(State())

    /// Whether the provider has ended.
    var haveEnded: Bool { self.state.withLock { $0.final != nil } }

    /// Passes the number of the call to `ask`, and waits for the answer.
    func wait(_ ask: (UInt64) -> Void) async -> DrainReport {
        await withCheckedContinuation { continuation in
            var call: UInt64 = 0
            let final = self.state.withLock { state -> DrainReport? in
                if let final = state.final { return final }
                state.lastCall += 1
                call = state.lastCall
                state.waiting[call] = continuation
                return nil
            }
            if let final { continuation.resume(returning: final) } else { ask(call) }
        }
    }

    /// Answers a call. Does nothing if the call was answered before.
    func answer(_ call: UInt64, with report: DrainReport) {
        let continuation = self.state.withLock { $0.waiting.removeValue(forKey: call) }
        continuation?.resume(returning: report)
    }

    /// Answers all calls: those that wait, and every later one.
    func end(with report: DrainReport) {
        let waiting = self.state.withLock { state in
            state.final = report
            defer { state.waiting = [:] }
            return state.waiting.values
        }
        for continuation in waiting { continuation.resume(returning: report) }
    }
}
