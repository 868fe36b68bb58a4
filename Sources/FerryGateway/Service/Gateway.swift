package import FerryCore
internal import FerryMachine
package import FerryOpenSSL
internal import FerryServer
package import NIOCore
internal import NIOPosix

/// The provider that the gateway forwards to, made with `outcomes` as its sink, and the providers of its side connections.
package struct GatewayUpstream: Sendable {
    /// The notifications that the provider should queue at most, and it should delay none: what waits there does not take
    /// turns, and fills the way of the others.
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

    /// Makes the provider of a side connection; nil: there can be none now, and the common connection takes its place.
    ///
    /// `ended` is to be called, on any thread, each time that its connection ends.
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

/// A gateway that takes the binary protocol from old clients, as Apple's did, and forwards to any provider.
///
/// Everything runs on one event loop. Its methods may be called from any thread. Shut every gateway down: releasing the
/// last reference closes nothing.
package final class Gateway: Sendable {
    /// The address and the clients of a listener.
    package struct Configuration: Sendable {
        /// The host to bind: a name or an address.
        package var host = "127.0.0.1"
        /// The port to bind; 0 for any.
        package var port = 0
        /// The port of the feedback service; 0 for any; nil: none.
        package var feedbackPort: Int?
        /// The gateway's certificate and key. RSA: old clients know nothing else.
        package var identity: TLSIdentity
        /// How old a client's TLS may be.
        package var tlsProfile = TLSProfile.modern
        /// The clients.
        package var clients: GatewayClients
        /// What the clients' notifications become.
        package var identities: [GatewayIdentity]
        package var routes: [Route]
        /// Where notifications are kept that a killed process must not lose; nil: nowhere.
        package var store: (any GatewayStore)?
        /// The file of the list of rejections; nil: there is none, and ``onEvent`` alone gets them.
        package var list: (any ListWriter)?
        /// Gets what is to be written down, with the counts of that time, on the gateway's event loop. It must not block.
        package var onEvent: @Sendable (GatewayEvent, GatewayCounts) -> Void = { _, _ in }

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

    /// The time that the end waits for the store, and again for the file of the list of rejections.
    private static let storeLimit: TimeAmount = .seconds(5)

    package let host: String
    package let port: Int
    /// The port of the feedback service, if there is one.
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
    /// - Throws: `TLSError` when the credentials cannot be used, a socket error when the address cannot be bound,
    ///   ``StoreError`` when the store cannot be used.
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
    package var counts: GatewayCounts {
        get async throws {
            let driver = self.driver
            return try await driver.eventLoop.submit { driver.counts }.get()
        }
    }

    /// Closes the store, and does not wait for a disk that hangs.
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

    /// Writes the rest of the journal and of the list of rejections, and does not wait for a disk that takes nothing.
    private func writeRest() async {
        let driver = self.driver
        let promise = driver.eventLoop.makePromise(of: Void.self)
        let deadline = driver.eventLoop.scheduleTask(in: Self.storeLimit) { promise.succeed() }
        driver.eventLoop.execute { driver.writeRest { promise.succeed() } }
        try? await promise.futureResult.get()
        deadline.cancel()
    }

    /// Takes no more connections, ends those that there are, and waits until every notification has its last answer.
    ///
    /// - Parameter limit: at this time the connections close as they are.
    /// - Returns: whether everything got its answer, or stays in the store. The upstreams are shut down with a
    ///   store; without one, shut them down after it.
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
            // Answers that come now would be heard, and not be kept.
            for upstream in driver.upstreams { _ = await upstream.provider.shutDown(within: .seconds(1)) }
        }
        // The machine sends nothing any more, so no side connection is made after this.
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
