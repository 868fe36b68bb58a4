package import Ferry
internal import FerryCore
package import FerryWorker

extension WorkerUpstream {
    /// The longest time that a written push waits for its answer while APNs answers PINGs. This time is less than the
    /// minute for which the row of the push is hidden.
    private static let lateAnswerLimit: Duration = .seconds(30)

    /// Makes an upstream of a worker.
    ///
    /// - Parameters:
    ///   - configuration: the provider's configuration. This call sets its outcomes, and the options for which the
    ///     worker has its own rules.
    ///   - connections: the number of connections from the worker to PostgreSQL.
    ///   - batch: the largest number of rows in a batch.
    /// - Throws: the error of ``HTTP2Provider`` for a configuration that cannot be used.
    package static func over(
        http2 configuration: HTTP2Configuration,
        connections: Int,
        batch: Int
    ) throws -> WorkerUpstream {
        var configuration = configuration
        configuration.options.queueLimit = Self.room(connections: connections, batch: batch)
        configuration.options.deadline = BatchMachine.sendLimit
        configuration.options.lateAnswerLimit = Self.lateAnswerLimit
        // The provider delays nothing. The table delays pushes, because the table survives a restart.
        configuration.options.delayLimit = 0
        // A breaker would stop all clients because of one client. The worker stops only that client.
        configuration.options.circuitBreaker = nil
        // All batches may be under way at once, and each notification needs a stream.
        let streams = max(configuration.options.maxStreams, 1)
        let needed = (connections * batch + streams - 1) / streams
        configuration.options.maxConnections = max(configuration.options.maxConnections, needed)
        let outcomes = WorkerOutcomes()
        configuration.outcomes = .sink(outcomes)
        return WorkerUpstream(try HTTP2Provider(configuration), outcomes: outcomes)
    }
}
