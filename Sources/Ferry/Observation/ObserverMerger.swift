internal import FerryCore
internal import Synchronization

/// Tells one observer what all event loops of a provider do, so that its calls never overlap.
///
/// A loop that finds another one in the observer leaves its numbers there, and does not wait. Any thread.
final class ObserverMerger: Sendable {
    private struct State {
        /// Where each loop stands.
        var standing: [ProviderActivity.Standing]
        /// The outcomes of all loops that wait for their reader.
        var unread = 0
        /// What happened since the last call.
        var activity: ProviderActivity?
        var isCalling = false

        /// Returns what to tell, and begins anew.
        mutating func take() -> ProviderActivity? {
            guard var activity = self.activity else { return nil }
            activity.standing = ProviderActivity.Standing()
            for standing in self.standing { activity.standing.add(standing) }
            activity.standing.unread = self.unread
            self.activity = nil
            return activity
        }
    }

    private let observer: any ProviderObserver
    private let state: Mutex<State>

    init(_ observer: any ProviderObserver, loopCount: Int) {
        self.observer = observer
        self.state = Mutex(State(standing: Array(repeating: .init(), count: loopCount)))
    }

    /// Tells the observer of a turn of a loop, or leaves that to the loop that is in the observer.
    func tell(_ activity: ProviderActivity, of loop: Int) {
        var next = self.state.withLock { state -> ProviderActivity? in
            state.standing[loop] = activity.standing
            state.unread = activity.standing.unread
            if state.activity == nil { state.activity = activity } else { state.activity?.add(activity) }
            guard !state.isCalling else { return nil }
            state.isCalling = true
            return state.take()
        }
        while let activity = next {
            self.observer.observed(activity)
            next = self.state.withLock { state in
                let more = state.take()
                if more == nil { state.isCalling = false }
                return more
            }
        }
    }
}
