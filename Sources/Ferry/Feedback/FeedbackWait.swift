internal import FerryCore

/// A wait that ``stop()`` ends early and for good. Safe from any thread.
final class FeedbackWait: Sendable {
    /// The longest wait: a hundred years. `Task.sleep` traps on a duration that overflows its nanoseconds.
    private static let longest: Duration = .seconds(3_155_760_000)

    private struct State {
        var isStopped = false
        /// The waits that go on, by number.
        var waits: [UInt64: CheckedContinuation<Void, Never>] = [:]
        var last: UInt64 = 0
    }

    private let state = Locked(State())

    var isStopped: Bool { self.state.withLock { $0.isStopped } }

    /// Ends all waits, current and later ones.
    func stop() {
        let waits = self.state.withLock { state in
            state.isStopped = true
            defer { state.waits = [:] }
            return state.waits.values
        }
        for continuation in waits { continuation.resume() }
    }

    /// Waits for `duration`, or until ``stop()`` or the cancellation of the task.
    func wait(for duration: Duration) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { try? await Task.sleep(for: min(duration, Self.longest)) }
            group.addTask { await self.waitForStop() }
            await group.next()
            group.cancelAll()
        }
    }

    private func waitForStop() async {
        let id = self.state.withLock { state in
            state.last += 1
            return state.last
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isWaiting = self.state.withLock { state in
                    guard !state.isStopped, !Task.isCancelled else { return false }
                    state.waits[id] = continuation
                    return true
                }
                if !isWaiting { continuation.resume() }
            }
        } onCancel: {
            self.state.withLock { $0.waits.removeValue(forKey: id) }?.resume()
        }
    }
}
