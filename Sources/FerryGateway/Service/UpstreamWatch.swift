package import FerryAdmin
package import FerryCore

/// The connections, requests, failures and PINGs of an upstream, as its provider reports them, and the results of its
/// trials. Any thread may use the watch.
package final class UpstreamWatch: ProviderObserver {
    package struct Figures: Hashable, Sendable {
        /// The counts since the start, and the present queues. The times of PINGs are in ``pingTimes`` only.
        package var activity = ProviderActivity()
        package var state = State.untried
        /// The times from a PING to its answer.
        package var pingTimes = TimeHistogram()
        /// The time from the last answered PING to its answer, in seconds; nil before the first answer.
        package var lastPing: Double?
        /// The last failure of a common connection, or of a trial that changed the state, with its cure; nil before the
        /// first failure. Failures of earlier providers are left out, because these providers may have had another host
        /// or other credentials.
        package var lastError: AlarmLine?

        /// Whether there is no connection because the peer refuses the credentials: a certificate in the handshake, or
        /// a provider token that no retry can cure. Once a connection has worked, such a refusal shuts no gate, so
        /// only this property shows the refusal.
        var refusesCredentials: Bool {
            switch self.state {
            case .untried, .good: false
            case .trialFailed(let code): code == .credentialsRejected
            case .failing(let codes): codes.contains(.credentialsRejected)
            }
        }

        /// Whether the provider has no connection, and no notification that needs a connection.
        fileprivate var isIdle: Bool {
            let standing = self.activity.standing
            return standing.connections == 0 && standing.queued == 0 && standing.unsettled == 0
        }

        /// Whether the result of a trial decides the state: no connection was tried since the start or the last trial,
        /// or the tries failed and the provider is idle.
        fileprivate var takesTrial: Bool {
            switch self.state {
            case .untried, .trialFailed: true
            case .failing: self.isIdle
            case .good: false
            }
        }

        fileprivate var isFailing: Bool {
            switch self.state {
            case .untried, .good: false
            case .trialFailed, .failing: true
            }
        }

        /// Adds the counts of an earlier provider. The queues and the state stay.
        fileprivate mutating func add(_ earlier: Figures) {
            self.activity.add(earlier.activity)
            self.pingTimes.add(earlier.pingTimes)
            self.lastPing = self.lastPing ?? earlier.lastPing
        }

        /// Adds the figures of another gateway's provider at the same upstream.
        mutating func join(_ other: Figures) {
            let (own, others) = (self.sharedState, other.sharedState)
            self.state = others.rank > own.rank ? others : own
            self.add(other)
            self.activity.standing.add(other.activity.standing)
            self.lastError = [self.lastError, other.lastError].compactMap { $0 }.max { $0.at < $1.at }
        }

        /// The state that counts among several gateways. An idle provider does not connect again after a failure, so
        /// its old failure does not count.
        private var sharedState: State {
            if case .failing = self.state, self.isIdle { .untried } else { self.state }
        }

        /// The figures after the end of the provider.
        var left: Figures {
            var figures = self
            figures.activity.standing = ProviderActivity.Standing()
            (figures.state, figures.lastError) = (.untried, nil)
            return figures
        }

        /// Notes the times of PINGs that were answered.
        fileprivate mutating func add(_ roundTrips: DurationSample) {
            for time in roundTrips.nanoseconds { self.pingTimes.add(nanoseconds: time) }
            if let last = roundTrips.nanoseconds.last { self.lastPing = Double(last) / 1e9 }
        }
    }

    /// The state of the connections to an upstream.
    ///
    /// ```
    ///   untried, trialFailed, idle failing ── trial failed ────▶ trialFailed
    ///   trialFailed, idle failing ─────────── trial succeeded ─▶ untried
    ///   each ── connection ─────────────────▶ good
    ///   each ── failure, and no connection ─▶ failing
    /// ```
    ///
    /// An idle upstream has no connection, and its provider has no notification that needs a connection.
    package enum State: Hashable, Sendable {
        /// No connection for notifications was tried since the start, or since a trial succeeded.
        case untried
        /// The last trial failed, and no connection for notifications was tried since. The code is nil if the trial
        /// failed before a connection.
        case trialFailed(ProviderError.Code?)
        /// A connection was opened, and since then no failure has left the upstream without a connection.
        case good
        /// There is no connection. The codes are those of the last failures.
        case failing(Set<ProviderError.Code>)

        /// The rank of the state. Of several providers, the state with the highest rank counts. A connection proves
        /// more than a trial.
        fileprivate var rank: Int {
            switch self {
            case .untried: 0
            case .trialFailed: 1
            case .good: 2
            case .failing: 3
            }
        }
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

    /// Notes that a trial succeeded. Connections for notifications prove more, so the trial changes nothing in the
    /// state ``State/good``, or while tries fail and notifications wait.
    ///
    /// - Returns: whether the trial ends a failure.
    @discardableResult
    package func trialSucceeded() -> Bool {
        self.state.withLock { watched in
            guard watched.figures.takesTrial else { return false }
            defer { watched.figures.state = .untried }
            return watched.figures.isFailing
        }
    }

    /// Notes that a trial failed. The trial changes nothing in the same cases as in ``trialSucceeded()``.
    ///
    /// - Parameters:
    ///   - failure: the failure with its cure.
    ///   - code: the code of the failure; nil if the trial failed before a connection.
    /// - Returns: whether the trial changed the state.
    @discardableResult
    package func trialFailed(_ failure: AlarmLine, _ code: ProviderError.Code?) -> Bool {
        self.state.withLock { watched in
            guard watched.figures.takesTrial else { return false }
            watched.figures.state = .trialFailed(code)
            watched.figures.lastError = failure
            return true
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
        // The histogram has all times, so a second sample of them would only cost time.
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

    /// Whether there is no connection, because the last tries to connect or the last trial failed.
    package var isFailing: Bool { self.state.withLock { $0.figures.isFailing } }

    /// The number of connections that this watch's own provider has opened for notifications so far.
    package var connections: Int { self.state.withLock { $0.figures.activity.connected } }

    /// Whether there is a failure that only a trial can end, because no notification makes the provider connect.
    package var awaitsTrial: Bool { self.state.withLock { $0.figures.isFailing && $0.figures.takesTrial } }

    /// The figures, with the counts of the providers before this one.
    package var figures: Figures {
        let watched = self.state.withLock { $0 }
        var figures = watched.figures
        figures.add(watched.before)
        if let predecessor = watched.predecessor { figures.add(predecessor.figures) }
        return figures
    }
}
