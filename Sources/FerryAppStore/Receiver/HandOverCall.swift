internal import FerryCore

/// The result of a hand-over.
package enum HandOverResult: Sendable, Equatable {
    /// The handler or the store has taken the notification. `isNew` is false if it was taken before.
    case taken(isNew: Bool)
    /// The notification was not taken. The text gives the reason.
    case failed(String)
}

/// One hand-over of a notification. All copies that arrive while the hand-over runs wait for its end. Safe from any
/// thread.
///
/// ```
///              end
///   running ────────▶ ended
/// ```
final class HandOverCall: Sendable {
    private struct Waiter {
        var continuation: CheckedContinuation<HandOverResult?, Never>
        var alarm: Alarm?
    }

    private enum State {
        case running([UInt64: Waiter], next: UInt64)
        case ended(HandOverResult)
    }

    private let state = Locked(State.running([:], next: 0))

    func end(_ result: HandOverResult) {
        let waiters = self.state.withLock { state -> [Waiter] in
            guard case .running(let waiters, _) = state else { return [] }
            state = .ended(result)
            return Array(waiters.values)
        }
        for waiter in waiters {
            waiter.alarm?.cancel()
            waiter.continuation.resume(returning: result)
        }
    }

    /// Returns the result; nil if no result comes within `limit`. The hand-over itself goes on.
    func result(within limit: Duration) async -> HandOverResult? {
        await withCheckedContinuation { continuation in
            switch self.add(continuation) {
            case .ended(let result): continuation.resume(returning: result)
            case .waits(let number):
                self.keep(Alarm(after: limit) { self.giveUp(number) }, of: number)
            }
        }
    }

    private enum Entry {
        case ended(HandOverResult)
        case waits(UInt64)
    }

    private func add(_ continuation: CheckedContinuation<HandOverResult?, Never>) -> Entry {
        self.state.withLock { state in
            switch state {
            case .ended(let result): return .ended(result)
            case .running(var waiters, let next):
                // This line removes the dictionary from the state, so that the next line changes it without a copy.
                state = .running([:], next: next)
                waiters[next] = Waiter(continuation: continuation)
                state = .running(waiters, next: next + 1)
                return .waits(next)
            }
        }
    }

    private func keep(_ alarm: Alarm, of number: UInt64) {
        let isNeeded = self.state.withLock { state in
            guard case .running(var waiters, let next) = state, waiters[number] != nil else { return false }
            waiters[number]?.alarm = alarm
            state = .running(waiters, next: next)
            return true
        }
        if !isNeeded { alarm.cancel() }
    }

    private func giveUp(_ number: UInt64) {
        let waiter = self.state.withLock { state -> Waiter? in
            guard case .running(var waiters, let next) = state else { return nil }
            let waiter = waiters.removeValue(forKey: number)
            state = .running(waiters, next: next)
            return waiter
        }
        waiter?.continuation.resume(returning: nil)
    }
}
