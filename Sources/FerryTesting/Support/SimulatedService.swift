internal import FerryServer
internal import NIOCore

/// A running simulated service: its address, its counts and its end. Safe from any thread.
final class SimulatedService<Counts: ServiceCounts>: Sendable {
    /// The bound host, as the configuration names it.
    var host: String { self.listener.host }
    /// The bound port.
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
    ///   - handshake: how connections begin. With `silent`, they are never read.
    ///   - tally: the counts of the protocol.
    ///   - group: the event loops to run on. The group must outlive the service. Nil: the singleton group of SwiftNIO.
    ///   - flush: called every 100 ms on the listener's event loop, and when the service has stopped.
    ///   - handler: makes the handler of a connection's bytes, on the connection's event loop.
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

    /// The counts so far. Holds two locks, one after the other, for a few instructions.
    var counts: Counts {
        var counts = self.tally.snapshot
        let connections = self.listener.counts
        counts.connections = connections.connections
        counts.handshakes = connections.handshakes
        counts.handshakeFailures = connections.handshakeFailures
        return counts
    }

    /// Stops accepting. Open connections stay open.
    func close() {
        self.flushing?.cancel()
        self.listener.close()
    }

    /// Closes the listener and all connections, without close_notify, and flushes.
    ///
    /// - Parameter limit: how long to wait for the sockets to close. Sockets that are still open then close later, by
    ///   themselves.
    func stop(within limit: Duration) async {
        self.flushing?.cancel()
        await self.listener.stop(within: limit)
        self.flush?()
    }
}
