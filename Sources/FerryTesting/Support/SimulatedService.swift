internal import FerryServer
internal import NIOCore

/// A simulated service that runs: where it listens, what it counted, and how it stops. Safe from any thread.
final class SimulatedService<Counts: ServiceCounts>: Sendable {
    /// The address that is bound.
    var host: String { self.listener.host }
    /// The port that is bound.
    var port: Int { self.listener.port }
    private let listener: Listener
    private let tally: Tally<Counts>
    private let flush: (@Sendable () -> Void)?
    private let flushing: RepeatedTask?

    private init(_ listener: Listener, _ tally: Tally<Counts>, _ flush: (@Sendable () -> Void)?) {
        self.listener = listener
        self.tally = tally
        self.flush = flush
        let interval = TimeAmount.milliseconds(100)
        self.flushing = flush.map { flush in
            listener.eventLoop.scheduleRepeatedTask(initialDelay: interval, delay: interval) { _ in flush() }
        }
    }

    /// Binds an address and serves.
    ///
    /// - Parameters:
    ///   - handshake: how connections begin; of `silent` ones nothing is read.
    ///   - tally: what is counted beside connections.
    ///   - group: where it runs; must outlive it. Nil: SwiftNIO's own.
    ///   - flush: called every 100 ms on the listener's event loop, and when the service has stopped.
    ///   - handler: makes what handles a connection's bytes, on its event loop.
    /// - Throws: a socket error when the address cannot be bound.
    static func start(
        _ configuration: Listener.Configuration,
        handshake: GatewayScript.Handshake = .normal,
        counting tally: Tally<Counts> = Tally(),
        on group: (any EventLoopGroup)?,
        flush: (@Sendable () -> Void)? = nil,
        handler: @escaping @Sendable (AcceptedConnection) throws -> any ChannelHandler
    ) async throws -> SimulatedService {
        let listener = try await Listener.bind(configuration, on: group) { connection in
            handshake == .silent ? nil : try handler(connection)
        }
        return SimulatedService(listener, tally, flush)
    }

    /// What happened so far. Holds two locks, one after the other, for a few instructions.
    var counts: Counts {
        var counts = self.tally.snapshot
        let connections = self.listener.counts
        counts.connections = connections.connections
        counts.handshakes = connections.handshakes
        counts.handshakeFailures = connections.handshakeFailures
        return counts
    }

    /// Accepts nothing more; the connections stay.
    func close() {
        self.flushing?.cancel()
        self.listener.close()
    }

    /// Closes the listener and all connections, without ceremony, and flushes.
    ///
    /// - Parameter limit: how long to wait for the sockets to close; what is then still open closes later by itself.
    func stop(within limit: Duration) async {
        self.flushing?.cancel()
        await self.listener.stop(within: limit)
        self.flush?()
    }
}
