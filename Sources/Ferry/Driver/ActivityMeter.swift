internal import FerryCore
internal import FerryMachine

/// A counter of a provider's activity in a turn of its event loop, for an observer.
struct ActivityMeter {
    /// The activity of this turn.
    private var activity = ProviderActivity()
    /// The numbers of the provider's life at the end of the last turn.
    private var counts = OutcomeCounts()
    private var contradicted = 0
    private var resent = 0

    mutating func took(_ count: Int) { self.activity.taken += count }

    mutating func saw(_ event: ProviderEvent) {
        switch event {
        case .connected: self.activity.connected += 1
        case .disconnected: self.activity.disconnected += 1
        case .socketError(_, let error), .error(let error): self.activity.failures[error.code, default: 0] += 1
        default: break
        }
    }

    /// Returns the activity of this turn; nil if nothing changed.
    mutating func endTurn(
        _ outcomes: inout OutcomeLog,
        _ standing: ProviderActivity.Standing,
        pings: ProviderActivity.Pings,
        times: ProviderActivity.Times
    ) -> ProviderActivity? {
        var nothing = ProviderActivity()
        nothing.standing = self.activity.standing
        self.activity.outcomes = outcomes.counts.since(self.counts)
        self.activity.causes = outcomes.takeCauses()
        self.activity.contradicted = outcomes.contradicted - self.contradicted
        // The log takes off a copy that has not left, but a counter cannot go back. So that copy's next write is not
        // counted.
        self.activity.resent = max(outcomes.resent - self.resent, 0)
        self.activity.standing = standing
        self.activity.pings = pings
        self.activity.times = times
        guard self.activity != nothing else { return nil }
        self.counts = outcomes.counts
        self.contradicted = outcomes.contradicted
        self.resent = max(outcomes.resent, self.resent)
        defer {
            self.activity = ProviderActivity()
            self.activity.standing = standing
        }
        return self.activity
    }
}
