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

    /// The number of notifications that a provider must have room for. Late rows of held clients come on top.
    /// A row that finds no room is tried again.
    ///
    /// - Parameters:
    ///   - connections: those to PostgreSQL.
    ///   - batch: the rows of a batch. A connection has a batch, and at most as many late rows.
    package static func room(connections: Int, batch: Int) -> Int { 2 * connections * batch }
}

/// The way of outcomes from a provider's event loop to the worker's.
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
