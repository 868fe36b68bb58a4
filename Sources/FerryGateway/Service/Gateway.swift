package import FerryCore
internal import FerryMachine
package import FerryOpenSSL
internal import FerryServer
package import NIOCore
internal import NIOPosix

/// The upstream of a gateway: the provider to which it forwards, made with `outcomes` as its sink, and the providers of
/// its side connections.
package struct GatewayUpstream: Sendable {
    /// The number of notifications that the provider should queue at most. It should not delay any. Notifications in
    /// its queue do not take turns between clients, and would fill the way of other clients.
    package static let queueLimit = 1024

    /// A provider with one connection, made with `outcomes` as its sink.
    package struct Side: Sendable {
        package let provider: any PushProvider
        package let outcomes: UpstreamOutcomes

        package init(_ provider: any PushProvider, outcomes: UpstreamOutcomes) {
            self.provider = provider
            self.outcomes = outcomes
        }
    }

    /// Makes the provider of a side connection; nil if none can be made now. The common connection then serves instead.
    ///
    /// The provider calls `ended`, on any thread, each time that its connection ends.
    package typealias MakeSide = @Sendable (_ ended: @escaping @Sendable () -> Void) -> Side?

    package let provider: any PushProvider
    package let outcomes: UpstreamOutcomes
    package let makeSide: MakeSide

    package init(_ provider: any PushProvider, outcomes: UpstreamOutcomes, makeSide: @escaping MakeSide) {
        self.provider = provider
        self.outcomes = outcomes
        self.makeSide = makeSide
    }
}

/// A gateway that accepts the binary protocol from old clients, as Apple's did, and forwards to any provider.
///
/// All its work runs on one event loop. Any thread may call its methods. Shut every gateway down, because releasing the
/// last reference closes nothing.
package final class Gateway: Sendable {
    /// The address and the clients of a listener.
    package struct Configuration: Sendable {
        /// The host to bind, as a name or an address.
        package var host = "127.0.0.1"
        /// The port to bind; 0 for any.
        package var port = 0
        /// The port of the feedback service; 0 for any port, nil for no service.
        package var feedbackPort: Int?
        /// The gateway's certificate and key. The key should be RSA, because old clients support no other.
        package var identity: TLSIdentity
        /// The oldest TLS that a client may use.
        package var tlsProfile = TLSProfile.modern
        /// The clients, and the signs by which each is recognized.
        package var clients: GatewayClients
        /// The identities, which say how each client's notifications are forwarded.
        package var identities: [GatewayIdentity]
        package var routes: [Route]
        /// The store of state that a killed process must not lose; nil for no store.
        package var store: (any GatewayStore)?
        /// The file of the list of rejections. If nil, only ``onEvent`` gets the rejections.
        package var list: (any ListWriter)?
        /// Gets each event that should be logged, with the counts at that time. It runs on the gateway's event loop,
        /// and must not block.
        package var onEvent: @Sendable (GatewayEvent, FateCounts) -> Void = { _, _ in }

        package init(
            identity: TLSIdentity,
            clients: GatewayClients,
            identities: [GatewayIdentity],
            routes: [Route]
        ) {
            self.identity = identity
            self.clients = clients
            self.identities = identities
            self.routes = routes
        }
    }

    /// How long the end waits for the store, and then for the file of the list of rejections.
    private static let storeLimit: TimeAmount = .seconds(5)

    package let host: String
    package let port: Int
    /// The port of the feedback service; nil without such a service.
    package var feedbackPort: Int? { self.feedback?.port }
    private let listener: Listener
    private let feedback: Listener?
    private let driver: GatewayDriver
    private let store: (any GatewayStore)?

    private init(
        _ listener: Listener,
        _ feedback: Listener?,
        _ driver: GatewayDriver,
        _ store: (any GatewayStore)?
    ) {
        self.store = store
        self.listener = listener
        self.feedback = feedback
        self.driver = driver
        self.host = listener.host
        self.port = listener.port
    }

    /// Binds the address, and begins to forward.
    ///
    /// - Throws: `TLSError` if the credentials cannot be used, a socket error if the address cannot be bound, and
    ///   ``StoreError`` if the store cannot be used.
    package static func start(
        _ configuration: Configuration,
        upstreams: [GatewayUpstream],
        on group: (any EventLoopGroup)? = nil
    ) async throws -> Gateway {
        let eventLoop = (group ?? MultiThreadedEventLoopGroup.singleton).next()
        let driver = GatewayDriver(
            try await GatewayMachine.make(configuration, upstreams: upstreams.count),
            upstreams: upstreams,
            store: configuration.store,
            list: configuration.list,
            names: configuration.identities.map(\.name),
            on: eventLoop,
            onEvent: configuration.onEvent
        )
        do {
            return try await Self.listen(configuration, driver, on: eventLoop)
        } catch {
            await configuration.store?.close()
            throw error
        }
    }

    private static func listen(
        _ configuration: Configuration,
        _ driver: GatewayDriver,
        on eventLoop: any EventLoop
    ) async throws -> Gateway {
        let tls = TLSContext.Server(
            identity: configuration.identity,
            profile: configuration.tlsProfile,
            maximum: .tls12,
            clientCertificates: configuration.clients.certificates
        )
        var listening = Listener.Configuration()
        listening.host = configuration.host
        listening.port = configuration.port
        listening.tls = try TLSContext(server: tls)
        let room = GatewayRoom(upstreams: driver.upstreams.count, hasFeedback: configuration.feedbackPort != nil)
        listening.limits.connections = min(listening.limits.connections, room.clients)
        let clients = configuration.clients
        let strangers = Strangers(on: eventLoop)
        listening.onWait = { strangers.placeIsWanted($0) }
        let listener = try await Listener.bind(listening, on: eventLoop) { connection in
            connection.tls.map { GatewayHandler(driver: driver, clients: clients, strangers: strangers, tls: $0) }
        }
        var feedback: Listener?
        if let port = configuration.feedbackPort {
            listening.port = port
            listening.limits.connections = room.readers
            let strangers = Strangers(on: eventLoop)
            listening.onWait = { strangers.placeIsWanted($0) }
            do {
                feedback = try await Listener.bind(listening, on: eventLoop) { connection in
                    connection.tls.map {
                        GatewayFeedbackHandler(driver: driver, clients: clients, strangers: strangers, tls: $0)
                    }
                }
            } catch {
                await listener.stop(within: .seconds(1))
                throw error
            }
        }
        driver.start()
        return Gateway(listener, feedback, driver, configuration.store)
    }

    /// The counts so far.
    package var counts: FateCounts {
        get async throws {
            let driver = self.driver
            return try await driver.eventLoop.submit { driver.counts }.get()
        }
    }

    /// Closes the store, without waiting for a disk that hangs.
    private func closeStore() async {
        guard let store else { return }
        let promise = self.driver.eventLoop.makePromise(of: Void.self)
        let deadline = self.driver.eventLoop.scheduleTask(in: Self.storeLimit) { promise.succeed() }
        Task {
            await store.close()
            promise.succeed()
        }
        try? await promise.futureResult.get()
        deadline.cancel()
    }

    /// Writes the rest of the journal and of the list of rejections. It does not wait for a disk that accepts nothing.
    private func writeRest() async {
        let driver = self.driver
        let promise = driver.eventLoop.makePromise(of: Void.self)
        let deadline = driver.eventLoop.scheduleTask(in: Self.storeLimit) { promise.succeed() }
        driver.eventLoop.execute { driver.writeRest { promise.succeed() } }
        try? await promise.futureResult.get()
        deadline.cancel()
    }

    /// Refuses new connections, ends the open ones, and waits until every notification has its last answer.
    ///
    /// - Parameter limit: the time after which the connections are closed as they are.
    /// - Returns: whether every notification has its answer or is in the store. With a store, this call also shuts the
    ///   upstreams down. Without one, shut them down afterwards.
    package func shutDown(within limit: Duration) async -> Bool {
        self.listener.close()
        let driver = self.driver
        let promise = driver.eventLoop.makePromise(of: Bool.self)
        let deadline = driver.eventLoop.scheduleTask(in: TimeAmount(limit)) { promise.succeed(false) }
        driver.eventLoop.execute { driver.shutDown { promise.succeed(true) } }
        // The promise never fails.
        let isAnswered = (try? await promise.futureResult.get()) ?? false
        deadline.cancel()
        if !isAnswered { try? await driver.eventLoop.submit { driver.abandon() }.get() }
        await self.listener.stop(within: .seconds(1))
        await self.feedback?.stop(within: .seconds(1))
        if !isAnswered || self.store != nil {
            // The upstreams end first. The gateway would still hear an answer that comes after the store is closed, but
            // could not keep it.
            for upstream in driver.upstreams { _ = await upstream.provider.shutDown(within: .seconds(1)) }
        }
        // The machine sends nothing after this, so no further side connection is made.
        await driver.sides.shutDown(within: .seconds(1))
        var isKept = isAnswered
        if !isAnswered {
            isKept = (try? await driver.eventLoop.submit { driver.giveUpUnanswered() }.get()) ?? false
        }
        await self.writeRest()
        try? await driver.eventLoop.submit { driver.finish() }.get()
        await self.closeStore()
        return isKept
    }
}
