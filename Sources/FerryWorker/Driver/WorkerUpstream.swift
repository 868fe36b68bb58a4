package import FerryCore

/// A provider to which a worker gives rows, and the sink of its outcomes.
package struct WorkerUpstream: Sendable {
    package let provider: any PushProvider
    let outcomes: WorkerOutcomes

    /// - Parameter outcomes: the sink with which the provider was made.
    package init(_ provider: any PushProvider, outcomes: WorkerOutcomes) {
        self.provider = provider
        self.outcomes = outcomes
    }

    /// The number of notifications that a provider must have room for. Late rows of held clients are not in this
    /// number. A row for which the provider has no room is tried again.
    ///
    /// - Parameters:
    ///   - connections: the number of connections to PostgreSQL.
    ///   - batch: the largest number of rows of a batch. A connection takes a batch only while it has fewer late rows
    ///     than this.
    package static func room(connections: Int, batch: Int) -> Int { 2 * connections * batch }
}

/// The sink of a provider's outcomes, which passes them to the worker.
package final class WorkerOutcomes: OutcomeSink {
    private let receive = Locked<(@Sendable ([OutcomeRecord]) -> Void)?>(nil)

    package init() {}

    package func settled(_ outcomes: Span<OutcomeRecord>) {
        var records: [OutcomeRecord] = []
        records.reserveCapacity(outcomes.count)
        for index in outcomes.indices { records.append(outcomes[index]) }
        self.receive.withLock { $0 }?(records)
    }

    /// - Parameter receive: called on the provider's event loop.
    func onOutcomes(_ receive: @escaping @Sendable ([OutcomeRecord]) -> Void) {
        self.receive.withLock { $0 = receive }
    }
}
