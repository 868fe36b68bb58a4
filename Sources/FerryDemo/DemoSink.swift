internal import Ferry
internal import FerryCore

/// Keeps every outcome by its tag.
final class DemoSink: OutcomeSink {
    private let outcomes = Locked<[UInt64: [Outcome]]>([:])

    func settled(_ outcomes: Span<OutcomeRecord>) {
        self.outcomes.withLock { kept in
            for index in outcomes.indices {
                kept[outcomes[index].tag.rawValue, default: []].append(outcomes[index].outcome)
            }
        }
    }

    /// The outcomes of each tag. If all is well, each tag has one.
    var all: [UInt64: [Outcome]] { self.outcomes.withLock { $0 } }
}
