package import FerryCore

/// The connections, requests and failures of an upstream, from its provider's observer. Any thread.
package final class UpstreamWatch: ProviderObserver {
    package struct Figures: Hashable, Sendable {
        /// The events since the start, and the present queues.
        package var activity = ProviderActivity()
        package var state = State.untried
    }

    package enum State: Hashable, Sendable {
        /// Nothing was tried yet.
        case untried
        /// A connection was opened, and nothing failed since.
        case good
        /// There is no connection, because of the last failures of these kinds.
        case failing(Set<ProviderError.Code>)
    }

    private struct Watched {
        var figures = Figures()
        /// The figures of earlier providers that have ended.
        var before = ProviderActivity()
        /// The watch of the provider before this one, until it has ended.
        var predecessor: UpstreamWatch?
    }

    private let state = Locked(Watched())

    package init() {}

    /// Counts on from the watch of the provider that this one replaces, so that no count goes back.
    func follow(_ predecessor: UpstreamWatch) { self.state.withLock { $0.predecessor = predecessor } }

    /// Takes over the counts of the provider before this one, which has ended.
    func absorb() {
        guard let predecessor = self.state.withLock({ $0.predecessor }) else { return }
        let activity = predecessor.figures.activity
        self.state.withLock { watched in
            watched.before.add(activity)
            watched.predecessor = nil
        }
    }

    package func observed(_ activity: ProviderActivity) {
        self.state.withLock { watched in
            watched.figures.activity.add(activity)
            watched.figures.activity.standing = activity.standing
            if activity.connected > 0 {
                watched.figures.state = .good
            } else if !activity.failures.isEmpty, activity.standing.connections == 0 {
                watched.figures.state = .failing(Set(activity.failures.keys))
            }
        }
    }

    /// The figures, with the counts of the providers before this one.
    package var figures: Figures {
        let watched = self.state.withLock { $0 }
        var figures = watched.figures
        let (standing, earlier) = (figures.activity.standing, watched.predecessor?.figures.activity)
        figures.activity.add(watched.before)
        if let earlier { figures.activity.add(earlier) }
        figures.activity.standing = standing
        return figures
    }
}
