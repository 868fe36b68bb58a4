extension ProviderActivity {
    /// Outcomes of one kind over one protocol, whose times are measured together.
    public struct TimedOutcome: Hashable, Sendable {
        /// The protocol that gave the outcome.
        public var side: ProviderSide
        /// The kind of outcome.
        public var kind: OutcomeKind

        /// Creates the key of one kind of outcome over one protocol.
        public init(over side: ProviderSide, _ kind: OutcomeKind) {
            self.side = side
            self.kind = kind
        }
    }

    /// The times of outcomes from their submission.
    package typealias Times = [TimedOutcome: DurationSample]
}

extension ProviderActivity.Times {
    /// Adds the times of `other`.
    package mutating func add(_ other: ProviderActivity.Times) {
        for (outcome, times) in other { self[outcome, default: DurationSample()].add(times) }
    }
}
