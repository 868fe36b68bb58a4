internal import FerryCore
internal import FerryGateway
internal import FerryMachine
internal import FerryPlatform
internal import NIOCore

/// The gateway of one shard in this process, from its take to its end, on an event loop of its own.
///
/// ```
///   take ──▶ recover ──▶ serve, with open ports while it has the right ──▶ shut down ──▶ over
///    └── another has it, or it cannot be served ─────────────────────────────────────────▲
/// ```
final class ShardOwner: Sendable {
    /// An event that ``run()`` waits for.
    private enum Signal: Sendable {
        case news(PostgresStore.News)
        /// Everything is handed over to the new owner.
        case handedOver
        case end
    }

    /// How an attempt to own a shard has ended.
    enum Ending: Sendable {
        case notTaken
        /// This process cannot serve the shard.
        case refused(String)
        /// - Parameter isKept: whether each notification has its answer, or is in PostgreSQL.
        case ended(isKept: Bool)
    }

    let shard: Int
    private let setup: ShardProcess.Setup
    private let sightings: PostgresSightings
    private let began: @Sendable () async -> Void
    private let eventLoop: any EventLoop
    private let store: PostgresStore
    private let signals: AsyncStream<Signal>
    private let signal: AsyncStream<Signal>.Continuation
    /// The start of the gateway, and whether the shard is given up.
    private let start = Locked<(task: Task<Gateway, any Error>?, isOver: Bool)>((nil, false))
    private let running = Locked<Gateway?>(nil)
    private let last = Locked<GatewaySnapshot?>(nil)
    private let counts = Locked(ShardFigures())

    /// - Parameter began: called once, when the gateway serves the shard, or does not begin.
    init(
        _ free: FreeShard,
        _ setup: ShardProcess.Setup,
        _ sightings: PostgresSightings,
        on eventLoop: any EventLoop,
        began: @escaping @Sendable () async -> Void
    ) {
        self.began = began
        self.eventLoop = eventLoop
        self.shard = free.shard
        self.setup = setup
        self.sightings = sightings
        let (signals, signal) = AsyncStream.makeStream(of: Signal.self)
        (self.signals, self.signal) = (signals, signal)
        self.store = PostgresStore(
            PostgresStore.Place(
                connection: setup.connection,
                shard: free.shard,
                node: setup.node,
                away: setup.away
            ),
            seen: free.term,
            on: eventLoop
        ) { signal.yield(.news($0)) }
    }

    /// The gateway; nil until it has recovered, and after its end.
    var gateway: Gateway? { self.running.withLock { $0 } }

    /// The figures of the gateway, also after its end; nil until it has recovered. Cost: one turn of the event loop.
    var snapshot: GatewaySnapshot? {
        get async {
            if let gateway, let snapshot = try? await gateway.snapshot { return snapshot }
            return self.left
        }
    }

    /// The figures after the end of the gateway; nil before.
    var left: GatewaySnapshot? { self.last.withLock { $0 } }

    /// The figures of this shard alone, without those of its gateway.
    var figures: ShardFigures {
        var figures = self.counts.withLock { $0 }
        figures.sentWithoutRight = self.store.right.sentWithoutRight
        guard self.gateway != nil else { return figures }
        var owned = ShardFigures.Owned(self.shard)
        owned.rightSeconds = Double(self.store.right.left.nanoseconds) / 1e9
        owned.ringLength = self.store.ringLength
        figures.owned = [owned]
        return figures
    }

    /// Begins to give the shard up. A recovery ends with the read that is under way.
    func end() {
        self.signal.yield(.end)
        self.start.withLock { start in
            start.isOver = true
            start.task?.cancel()
        }
    }

    /// Takes the shard, and serves it until it is given up or lost.
    func run() async -> Ending {
        let upstreams: [GatewayUpstream]
        do {
            let right = self.store.right
            upstreams = try self.setup.gateway.upstreams.indices.map { try self.setup.upstream($0, right) }
        } catch {
            await self.began()
            return .refused("\(error)")
        }
        let gateway: Gateway
        do {
            let (configuration, eventLoop) = (self.configuration(of: self.setup), self.eventLoop)
            let task = Task { try await Gateway.start(configuration, upstreams: upstreams, on: eventLoop) }
            self.start.withLock { start in
                start.task = task
                if start.isOver { task.cancel() }
            }
            gateway = try await task.value
        } catch {
            for upstream in upstreams { _ = await upstream.provider.shutDown(within: .zero) }
            self.signal.finish()
            await self.began()
            await self.tellRest(hasServed: false)
            if let error = error as? StoreError, error.isInUse { return .notTaken }
            return .refused(Self.sentence(error))
        }
        self.running.withLock { $0 = gateway }
        self.setup.onNames(self.shard, gateway.tables)
        await self.began()
        // The reference is weak, because the gateway holds the store.
        self.store.isSettled { [weak gateway] in (try? await gateway?.figures.gateway.underWay) ?? 0 == 0 }
        var isTold = false
        var isHandedOver = false
        events: for await signal in self.signals {
            switch signal {
            case .news(let news):
                // The first right comes with the take, and is reported as `taken`.
                if case .right(true) = news, !isTold {
                    isTold = true
                    self.setup.onEvent(.taken(shard: self.shard))
                } else {
                    self.tell(news)
                }
                switch news {
                case .wanted: self.end()
                case .over: self.end()
                case .taken, .right, .returned, .fenced, .handOverIsSafe, .trouble: break
                }
            case .handedOver: isHandedOver = true
            case .end: break events
            }
            // The end waits for a safe hand-over: a failover may take longer than the 4 s that the store has to
            // close.
            if isHandedOver, !self.store.mayLoseHandOver { break }
        }
        let isKept = await gateway.shutDown(within: self.setup.shutdownLimit)
        await gateway.shutDownUpstreams(within: .seconds(1))
        let snapshot = try? await gateway.snapshot.left
        self.last.withLock { $0 = snapshot }
        self.running.withLock { $0 = nil }
        self.signal.finish()
        await self.tellRest(hasServed: true)
        return .ended(isKept: isKept && !self.store.hasLost)
    }

    private func tellRest(hasServed: Bool) async {
        for await signal in self.signals {
            guard case .news(let news) = signal else { continue }
            // Without a gateway, `stopped` and `resumed` have no meaning.
            if case .right = news, !hasServed { continue }
            self.tell(news)
        }
    }

    // MARK: A reload

    /// Prepares another configuration. Returns a closure that takes it (true) or abandons it (false); nil without a
    /// gateway, or if the gateway ends.
    func prepare(_ setup: ShardProcess.Setup) async throws -> (@Sendable (Bool) async -> Gateway.Reloaded?)? {
        guard let gateway = self.gateway else { return nil }
        let right = self.store.right
        let prepared: Gateway.PreparedReload
        do {
            prepared = try await gateway.prepareReload(self.configuration(of: setup)) { try setup.upstream($0, right) }
        } catch let fault as ReloadFault where fault == .ending {
            return nil
        }
        return { isTaken in
            guard isTaken else {
                await gateway.abandon(prepared)
                return nil
            }
            let reloaded = try? await gateway.commit(prepared)
            if let reloaded { setup.onNames(self.shard, reloaded.tables) }
            return reloaded
        }
    }

    /// The configuration of the gateway: its store, and its ports.
    private func configuration(of setup: ShardProcess.Setup) -> Gateway.Configuration {
        var configuration = setup.gateway
        configuration.store = self.store
        configuration.succession = nil
        configuration.gateways = setup.shards
        let shard = self.shard
        configuration.onEvent = { setup.onGatewayEvent(shard, $0, $1) }
        for index in configuration.doors.indices {
            if configuration.doors[index].port != 0 { configuration.doors[index].port += self.shard }
            // All shards have one feedback service.
            configuration.doors[index].feedbackPort = nil
        }
        let sightings = self.sightings
        configuration.onConnection = { sightings.note($0, in: shard, isOpen: $1) }
        let signal = self.signal
        configuration.onHandedOver = { signal.yield(.handedOver) }
        return configuration
    }

    private func tell(_ news: PostgresStore.News) {
        let shard = self.shard
        switch news {
        case .taken: self.counts.withLock { $0.takes += 1 }
        case .returned: self.counts.withLock { $0.returns += 1 }
        case .right(let isHeld): self.setup.onEvent(isHeld ? .resumed(shard: shard) : .stopped(shard: shard))
        case .wanted(let node): self.setup.onEvent(.wanted(shard: shard, by: node))
        case .fenced:
            self.counts.withLock { $0.fenced += 1 }
            self.setup.onEvent(.fenced(shard: shard))
        case .trouble(let reason): self.setup.onEvent(.trouble(shard: shard, reason))
        case .over(.released(let isFreed)): self.setup.onEvent(.released(shard: shard, isFreed: isFreed))
        case .over(.handedOver): self.setup.onEvent(.handedOver(shard: shard))
        case .over(.abandoned): self.setup.onEvent(.released(shard: shard, isFreed: false))
        case .handOverIsSafe, .over(.notTaken): break
        }
    }

    private static func sentence(_ error: any Error) -> String {
        guard let fault = error as? ListenFault else { return "\(error)" }
        return "Port \(fault.port) of \(fault.host) cannot be listened on: \(fault.cause)"
    }
}
