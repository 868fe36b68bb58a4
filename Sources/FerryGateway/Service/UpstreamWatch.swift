package import FerryCore

/// The connections, requests, failures and PINGs of an upstream, from its provider's observer. Any thread.
package final class UpstreamWatch: ProviderObserver {
    package struct Figures: Hashable, Sendable {
        /// The events since the start, and the present queues. The times of PINGs are in ``pingTimes`` only.
        package var activity = ProviderActivity()
        package var state = State.untried
        /// The times from a PING to its answer.
        package var pingTimes = TimeHistogram()
        /// The last of these times, in seconds; nil: no PING was answered.
        package var lastPing: Double?

        /// Adds the counts of an earlier provider. The queues and the state stay.
        fileprivate mutating func add(_ earlier: Figures) {
            self.activity.add(earlier.activity)
            self.pingTimes.add(earlier.pingTimes)
            self.lastPing = self.lastPing ?? earlier.lastPing
        }

        /// Notes the times of PINGs that were answered.
        fileprivate mutating func add(_ roundTrips: DurationSample) {
            for time in roundTrips.nanoseconds { self.pingTimes.add(nanoseconds: time) }
            if let last = roundTrips.nanoseconds.last { self.lastPing = Double(last) / 1e9 }
        }
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
        var before = Figures()
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
        let figures = predecessor.figures
        self.state.withLock { watched in
            watched.before.add(figures)
            watched.predecessor = nil
        }
    }

    package func observed(_ activity: ProviderActivity) {
        var counted = activity
        // The histogram has all times, so a sample of them would only cost time.
        counted.pings.roundTrips = DurationSample()
        self.state.withLock { watched in
            watched.figures.activity.add(counted)
            watched.figures.activity.standing = activity.standing
            if activity.pings.answered > 0 { watched.figures.add(activity.pings.roundTrips) }
            if activity.connected > 0 {
                watched.figures.state = .good
            } else if !activity.failures.isEmpty, activity.standing.connections == 0 {
                watched.figures.state = .failing(Set(activity.failures.keys))
            }
        }
    }

    /// Whether the last tries to connect have failed.
    var isFailing: Bool {
        if case .failing = self.state.withLock({ $0.figures.state }) { true } else { false }
    }

    /// The figures, with the counts of the providers before this one.
    package var figures: Figures {
        let watched = self.state.withLock { $0 }
        var figures = watched.figures
        figures.add(watched.before)
        if let predecessor = watched.predecessor { figures.add(predecessor.figures) }
        return figures
    }
}
