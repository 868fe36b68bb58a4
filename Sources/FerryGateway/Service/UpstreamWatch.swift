package import FerryAdmin
package import FerryCore

/// The connections, requests, failures and PINGs of an upstream, from its provider's observer, and the result of its
/// trial. Any thread.
package final class UpstreamWatch: ProviderObserver {
    package struct Figures: Hashable, Sendable {
        /// The events since the start, and the present queues. The times of PINGs are in ``pingTimes`` only.
        package var activity = ProviderActivity()
        package var state = State.untried
        /// The times from a PING to its answer.
        package var pingTimes = TimeHistogram()
        /// The last of these times, in seconds; nil: no PING was answered.
        package var lastPing: Double?
        /// The last failure of the common connections, or of the trial, with its cure; nil: there was none. It is never
        /// that of an earlier provider, which may have had another host or other credentials.
        package var lastError: AlarmLine?

        /// Whether there is no connection because the peer refuses the credentials: a certificate in the handshake, or a
        /// provider token that no retry can cure. No gate shuts for it once a connection has worked.
        var refusesCredentials: Bool {
            if case .failing(let codes) = self.state { codes.contains(.credentialsRejected) } else { false }
        }

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

    /// The state of the way to an upstream.
    ///
    /// ```
    ///   untried ──────── trial failed ───────────────▶ trialFailed
    ///   trialFailed ──── trial succeeded ────────────▶ untried
    ///   each ─────────── connection ─────────────────▶ good
    ///   each ─────────── failure, and no connection ─▶ failing
    /// ```
    package enum State: Hashable, Sendable {
        /// No connection for notifications was tried yet, and no trial has failed.
        case untried
        /// The last trial failed, and no connection for notifications was tried yet.
        case trialFailed
        /// A connection was opened, and since then no failure has left the upstream without one.
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

    /// Notes a failure of the common connections, with its cure.
    package func failed(_ error: AlarmLine) { self.state.withLock { $0.figures.lastError = error } }

    /// Notes the result of a trial. Once there was a connection for notifications, only such connections decide: they
    /// prove more.
    ///
    /// - Parameter failure: the failure with its cure; nil if the upstream can be used.
    /// - Returns: whether another trial could still change the state.
    @discardableResult
    package func tried(_ failure: AlarmLine?) -> Bool {
        self.state.withLock { watched in
            switch watched.figures.state {
            case .untried, .trialFailed:
                watched.figures.state = failure == nil ? .untried : .trialFailed
                if let failure { watched.figures.lastError = failure }
                return true
            case .good, .failing:
                return false
            }
        }
    }

    /// Continues the counts of the provider that this one replaces, so that no count goes back.
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
        switch self.state.withLock({ $0.figures.state }) {
        case .untried, .good: false
        case .trialFailed, .failing: true
        }
    }

    /// Whether a trial has failed, and nothing has tried the upstream since.
    package var awaitsTrial: Bool { self.state.withLock { $0.figures.state } == .trialFailed }

    /// The figures, with the counts of the providers before this one.
    package var figures: Figures {
        let watched = self.state.withLock { $0 }
        var figures = watched.figures
        figures.add(watched.before)
        if let predecessor = watched.predecessor { figures.add(predecessor.figures) }
        return figures
    }
}
