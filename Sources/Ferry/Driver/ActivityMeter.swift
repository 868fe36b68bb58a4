internal import FerryCore
internal import FerryMachine

/// Counts for an observer what a provider does in a turn of its event loop.
struct ActivityMeter {
    /// What happened in this turn.
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

    /// Returns what happened in this turn; nil if nothing changed.
    mutating func endTurn(
        _ outcomes: inout OutcomeLog,
        _ standing: ProviderActivity.Standing
    ) -> ProviderActivity? {
        var nothing = ProviderActivity()
        nothing.standing = self.activity.standing
        self.activity.outcomes = outcomes.counts.since(self.counts)
        self.activity.causes = outcomes.takeCauses()
        self.activity.contradicted = outcomes.contradicted - self.contradicted
        // The log takes a copy off that has not left. A counter cannot go back: that copy is not counted again when it is
        // written again.
        self.activity.resent = max(outcomes.resent - self.resent, 0)
        self.activity.standing = standing
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
