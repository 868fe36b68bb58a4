package import FerryCore

/// What a gateway's upstream does, from its provider's observer: connections, requests and failures. Any thread.
package final class UpstreamWatch: ProviderObserver {
    package struct Figures: Hashable, Sendable {
        /// What happened since the start, and the queues of now.
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

    private let state = Locked(Figures())

    package init() {}

    package func observed(_ activity: ProviderActivity) {
        self.state.withLock { figures in
            figures.activity.add(activity)
            figures.activity.standing = activity.standing
            if activity.connected > 0 {
                figures.state = .good
            } else if !activity.failures.isEmpty, activity.standing.connections == 0 {
                figures.state = .failing(Set(activity.failures.keys))
            }
        }
    }

    package var figures: Figures { self.state.withLock { $0 } }
}
