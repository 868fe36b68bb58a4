internal import FerryCore

/// A signal that wakes the tasks that wait for a change. Any thread may use it.
///
/// Read ``count`` before you read the changing state, and pass this count to ``wait(beyond:limit:)``. If the state
/// changes in between, the wait ends at once.
final class Signal: Sendable {
    private struct Waiter {
        var continuation: CheckedContinuation<Void, Never>
        var alarm: Alarm?
    }

    private struct State {
        var count: UInt64 = 0
        var next: UInt64 = 0
        var waiters: [UInt64: Waiter] = [:]
    }

    private let state = Locked(State())

    /// The number of times that the signal was raised.
    var count: UInt64 { self.state.withLock(\.count) }

    func raise() {
        let waiters = self.state.withLock { state in
            state.count += 1
            defer { state.waiters = [:] }
            return Array(state.waiters.values)
        }
        for waiter in waiters { Self.resume(waiter) }
    }

    /// Waits until the signal was raised more than `count` times, for at most `limit`. Returns early if the task is
    /// cancelled.
    func wait(beyond count: UInt64, limit: Duration) async {
        let number = self.state.withLock { state in
            state.next += 1
            return state.next
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let mustWait = self.state.withLock { state in
                    guard state.count <= count, !Task.isCancelled else { return false }
                    state.waiters[number] = Waiter(continuation: continuation)
                    return true
                }
                guard mustWait else { return continuation.resume() }
                let alarm = Alarm(after: limit) { self.wake(number) }
                self.state.withLock { state in
                    if state.waiters[number] == nil { alarm.cancel() } else { state.waiters[number]?.alarm = alarm }
                }
            }
        } onCancel: {
            self.wake(number)
        }
    }

    private func wake(_ number: UInt64) {
        if let waiter = self.state.withLock({ $0.waiters.removeValue(forKey: number) }) { Self.resume(waiter) }
    }

    private static func resume(_ waiter: Waiter) {
        waiter.alarm?.cancel()
        waiter.continuation.resume()
    }
}
