internal import FerryCore
internal import Synchronization

/// Reports the activity of all event loops of a provider to one observer, so that its calls never overlap.
///
/// A loop that finds another one in the observer leaves its numbers there, and does not wait. Any thread may use it.
final class ObserverMerger: Sendable {
    private struct State {
        /// The queues of each loop.
        var standing: [ProviderActivity.Standing]
        /// The outcomes of all loops that wait for their reader.
        var unread = 0
        /// The activity since the last call.
        var activity: ProviderActivity?
        var isCalling = false

        /// Returns the activity to report, and starts again.
        mutating func take() -> ProviderActivity? {
            guard var activity = self.activity else { return nil }
            activity.standing = ProviderActivity.Standing()
            for standing in self.standing { activity.standing.add(standing) }
            activity.standing.unread = self.unread
            self.activity = nil
            return activity
        }
    }

    /// The number of calls that one loop makes for others before it returns to its own work.
    private static let roundLimit = 8

    /// Whether the observer wants the times of outcomes.
    let wantsTimes: Bool
    private let observer: any ProviderObserver
    private let owes = Atomic(false)
    private let state: Locked<State>

    init(_ observer: any ProviderObserver, loopCount: Int) {
        self.observer = observer
        self.wantsTimes = observer.wantsTimes
        self.state = Locked(State(standing: Array(repeating: .init(), count: loopCount)))
    }

    /// Whether there is activity that was not reported. The call is cheap.
    var owesCall: Bool { self.owes.load(ordering: .relaxed) }

    /// Reports a turn of a loop, or leaves that to the loop that is in the observer.
    ///
    /// - Parameters:
    ///   - activity: the activity; nil if nothing happened.
    ///   - unread: returns the number of outcomes of all loops that wait for their reader. It is called under the lock.
    ///     If two loops report at the same time, the later one must have the later number.
    ///   - isPatient: whether the loop also reports the numbers that others leave there, because it has no other work.
    /// - Returns: whether the loop must be woken to report more.
    func tell(_ activity: ProviderActivity?, of loop: Int, unread: () -> Int, isPatient: Bool) -> Bool {
        var next = self.state.withLock { state -> ProviderActivity? in
            if let activity {
                state.standing[loop] = activity.standing
                if state.activity == nil { state.activity = activity } else { state.activity?.add(activity) }
            }
            state.unread = unread()
            guard !state.isCalling else {
                self.owes.store(true, ordering: .relaxed)
                return nil
            }
            let activity = state.take()
            state.isCalling = activity != nil
            return activity
        }
        var rounds = 0
        while let activity = next {
            self.observer.observed(activity)
            rounds += 1
            let mayGoOn = isPatient || rounds < Self.roundLimit
            next = self.state.withLock { state in
                let more = mayGoOn ? state.take() : nil
                state.isCalling = more != nil
                self.owes.store(state.activity != nil, ordering: .relaxed)
                return more
            }
        }
        return rounds >= Self.roundLimit && self.owesCall
    }
}
