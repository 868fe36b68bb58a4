internal import FerryCore
package import FerryGateway
package import FerryMachine
internal import FerryPlatform
package import FerryPostgres
internal import NIOCore
internal import NIOPosix

/// A process of a gateway on several machines. It looks for free shards, and runs a gateway for each shard that it
/// owns.
///
/// ```
///   look, each 0.5 s ──▶ take ──▶ ShardOwner ──▶ over
///        ▲                                        │
///        └────────────────────────────────────────┘
/// ```
package actor ShardProcess {
    /// The configuration of a process for its shards.
    package struct Setup: Sendable {
        /// A connection string of libpq.
        package var connection: String
        /// The name of this process. Each process must have a different name.
        package var node: String
        package var away: ShardAway
        /// How long rejections are kept.
        package var rejections: Duration
        /// The number of shards, which ``start()`` reads from the database.
        var shards = 1
        /// The configuration of each gateway. The ports of its doors are those of shard 0; shard n has the n-th port
        /// after them. Port 0 stays 0 for all shards. The process sets the store.
        package var gateway: Gateway.Configuration
        /// Makes the upstream with the index `place` in the configuration. The upstream sends only while the right is
        /// held.
        package var upstream: @Sendable (_ place: Int, ForwardingRight) throws -> GatewayUpstream
        /// How long the end of a gateway may take.
        package var shutdownLimit: Duration
        /// Gets the events, on any thread.
        package var onEvent: @Sendable (ShardEvent) -> Void
        /// Gets the events of a shard's gateway on its event loop, in place of the configuration's closure. The shard
        /// is nil for events of the feedback service.
        package var onGatewayEvent: @Sendable (_ shard: Int?, GatewayEvent, FateCounts) -> Void = { _, _, _ in }
        /// Gets the names of a shard's gateway by their numbers, at its start and after each reload.
        package var onNames: @Sendable (_ shard: Int, GatewayTables) -> Void = { _, _ in }

        package init(
            connection: String,
            node: String,
            away: ShardAway = .wait,
            rejections: Duration = .seconds(30 * 86_400),
            gateway: Gateway.Configuration,
            shutdownLimit: Duration = .seconds(30),
            onEvent: @escaping @Sendable (ShardEvent) -> Void = { _ in },
            upstream: @escaping @Sendable (_ place: Int, ForwardingRight) throws -> GatewayUpstream
        ) {
            self.connection = connection
            self.node = node
            self.away = away
            self.rejections = rejections
            self.gateway = gateway
            self.shutdownLimit = shutdownLimit
            self.onEvent = onEvent
            self.upstream = upstream
        }
    }

    /// How long a shard has no port until operators hear of it.
    private static let patience: TimeAmount = .seconds(10)
    private static let lookLimit: Duration = .seconds(3)
    /// The largest difference between this machine's clock and PostgreSQL's that is not reported, in seconds.
    private static let clockLimit = 5

    private(set) var setup: Setup
    private let rules = ShardRules.standard
    private let sightings: PostgresSightings
    private var look: ShardLook
    private var session: PostgresSession?
    private var owners: [Int: ShardOwner] = [:]
    private var tasks: [Int: Task<Void, Never>] = [:]
    /// The event loop of each shard that this process has owned or tried to take. It lives until the process ends.
    private var groups: [Int: MultiThreadedEventLoopGroup] = [:]
    private var looking: Task<Void, Never>?
    private var trimming: Task<Void, Never>?
    private(set) var feedback: Gateway?
    /// The numbers of the names in the figures of all shards. Each gateway has numbers of its own.
    private var numbers: GatewayNumbers
    /// The shards whose gateways are starting. A reload waits for these gateways. No other gateway starts before the
    /// reload has ended.
    private var beginning: Set<Int> = []
    private var isReloading = false
    private var waitingReload: CheckedContinuation<Void, Never>?
    /// All shards of the last look that was answered, by their numbers.
    private(set) var sights: [Int: ShardSight] = [:]
    private var closedSince: [Int: NIODeadline] = [:]
    private var ownerless: Set<Int> = []
    private var isClockTold = false
    private var lastTrouble: String?
    private var isKept = true
    /// The sums of owners that are over, and the figures of the last look.
    private var past = ShardFigures()
    private var pastSnapshot: GatewaySnapshot

    package init(_ setup: Setup) {
        self.setup = setup
        self.numbers = GatewayNumbers(setup.gateway.tables(upstreams: setup.gateway.upstreams.count))
        self.pastSnapshot = GatewaySnapshot(self.numbers.tables)
        self.look = ShardLook(node: setup.node)
        self.sightings = PostgresSightings(
            connection: setup.connection,
            node: setup.node,
            onEvent: setup.onEvent
        )
    }

    // MARK: The start

    /// Checks the database, and begins to look for shards.
    ///
    /// - Returns: the number of shards.
    /// - Throws: ``PostgresError`` when the database cannot be used; `TLSError` or ``ListenFault`` when the feedback
    ///   service cannot use its credentials or bind its port.
    @discardableResult
    package func start() async throws -> Int {
        let (count, namesake) = try await Self.look(connection: self.setup.connection, node: self.setup.node)
        self.setup.shards = count
        // The other process may be about to end, so this one goes on.
        if let namesake { self.setup.onEvent(.namesake(address: namesake)) }
        try await self.startFeedback()
        self.looking = Task { await self.keepLooking() }
        let care = RejectionCare(self.setup)
        self.trimming = Task { await care.run() }
        return count
    }

    /// Checks that the database can be used. Returns the number of shards.
    package static func check(connection: String, node: String) async throws(PostgresError) -> Int {
        try await self.look(connection: connection, node: node).shards
    }

    private static func look(
        connection: String,
        node: String
    ) async throws(PostgresError) -> (shards: Int, namesake: String?) {
        // The check uses the settings of an owner's session, so that it fails at a pooler, which refuses or forgets
        // them. But the check may be silent for longer. On a busy machine, an owner's limit would end the session,
        // and the process would not start.
        var settings = PostgresStore.settings(.init(connection: connection, shard: 0, node: node))
        settings.parameters["idle_session_timeout"] = "1min"
        let database = PostgresSetup(settings)
        defer { database.close() }
        return (try await database.check([.gateway]), try await database.namesake(of: node))
    }

    // MARK: The feedback service

    /// The port of the feedback service; nil while no feedback service runs.
    package var feedbackPort: Int? { self.feedback?.feedbackPort }

    /// Starts the feedback service if a door has a port for it. The feedback service belongs to no shard: every
    /// process gives every client's rows.
    private func startFeedback() async throws {
        let configuration = Self.feedbackConfiguration(of: self.setup)
        guard configuration.doors.contains(where: { $0.feedbackPort != nil }) else { return }
        self.feedback = try await Gateway.start(configuration, upstreams: [])
    }

    static func feedbackConfiguration(of setup: Setup) -> Gateway.Configuration {
        var configuration = setup.gateway
        configuration.gateways = setup.shards
        configuration.otherUpstreams = setup.gateway.upstreams.count
        for index in configuration.doors.indices { configuration.doors[index].hasClients = false }
        for index in configuration.identities.indices { configuration.identities[index].routes = [] }
        (configuration.routes, configuration.upstreams, configuration.list) = ([], [], nil)
        configuration.store = FeedbackStore(PostgresFeedback(connection: setup.connection, node: setup.node))
        configuration.onEvent = { setup.onGatewayEvent(nil, $0, $1) }
        return configuration
    }

    // MARK: A reload

    /// Takes another configuration in all gateways of this process, or in none. Shards that the process takes later get
    /// it, too.
    ///
    /// The feedback service neither begins nor ends. Do not call this again before it has returned.
    ///
    /// - Throws: as ``Gateway/reload(_:_:)``. Then nothing has changed.
    package func reload(
        _ configuration: Gateway.Configuration,
        make: @escaping @Sendable (_ upstream: Int, _ right: ForwardingRight?) throws -> GatewayUpstream
    ) async throws -> Gateway.Reloaded {
        self.isReloading = true
        defer { self.isReloading = false }
        if !self.beginning.isEmpty { await withCheckedContinuation { self.waitingReload = $0 } }
        var setup = self.setup
        var configuration = configuration
        configuration.list = setup.gateway.list
        (setup.gateway, setup.upstream) = (configuration, { try make($0, $1) })
        let adoption = try self.numbers.numbered(configuration.tables(upstreams: configuration.upstreams.count))
        var prepared: [@Sendable (Bool) async -> Gateway.Reloaded?] = []
        do {
            for (_, owner) in self.owners.sorted(by: { $0.key < $1.key }) {
                if let end = try await owner.prepare(setup) { prepared.append(end) }
            }
            if let feedback {
                let reload = try await feedback.prepareReload(Self.feedbackConfiguration(of: setup)) { _ in
                    throw ReloadFault.ending
                }
                prepared.append { isTaken in
                    if !isTaken { await feedback.abandon(reload) }
                    return isTaken ? try? await feedback.commit(reload) : nil
                }
            }
        } catch {
            for end in prepared { _ = await end(false) }
            throw error
        }
        self.setup = setup
        self.numbers.adopt(adoption)
        var reloaded: [Gateway.Reloaded] = []
        for end in prepared {
            if let one = await end(true) { reloaded.append(one) }
        }
        return Gateway.Reloaded(reloaded, adoption)
    }

    private func began(_ shard: Int) {
        self.beginning.remove(shard)
        guard self.beginning.isEmpty else { return }
        self.waitingReload?.resume()
        self.waitingReload = nil
    }

    // MARK: Looks

    private func keepLooking() async {
        while !Task.isCancelled {
            self.sightings.report(now: .sinceBoot)
            await self.lookOnce()
            try? await Task.sleep(for: Duration(self.rules.look))
        }
        self.session?.close()
        self.session = nil
        self.sightings.close()
    }

    private func lookOnce() async {
        let session =
            self.session
            ?? PostgresSession(
                PostgresSettings(
                    self.setup.connection,
                    name: "ferry \(self.setup.node)",
                    parameters: PostgresSettings.finding
                )
            )
        self.session = session
        let sentAt = NIODeadline.sinceBoot
        let clock = Int(time(nil))
        do throws(PostgresError) {
            let rows = try await session.send(PostgresStatement(ShardSQL.look), within: Self.lookLimit)
            self.sights = ShardSight.all(rows)
            self.looked(self.sights.values.compactMap(\.free).sorted { $0.shard < $1.shard }, sentAt: sentAt)
            if let theirs = rows.integer(0, 5) { self.compare(Int(theirs), with: clock...max(clock, Int(time(nil)))) }
        } catch {
            return self.lost(session, error)
        }
        do throws(PostgresError) {
            _ = try await session.send(PostgresStatement(ShardSQL.terminate), within: Self.lookLimit)
        } catch {
            // The role may lack the right to end sessions. Then an owner that hangs in the middle of a message keeps
            // its shard.
            guard error.kind == .refused else { return self.lost(session, error) }
            self.tell(trouble: error.description)
        }
    }

    private func lost(_ session: PostgresSession, _ error: PostgresError) {
        session.close()
        self.session = nil
        self.look.sessionEnded()
        self.past.isPostgresUp = false
        // Without an answer, it is not known which shards are free.
        self.closedSince = [:]
        if !Task.isCancelled { self.tell(trouble: error.description) }
    }

    /// Compares the clocks, because segments and provider tokens have the time of the machine that wrote them.
    ///
    /// - Parameters:
    ///   - theirs: the time of PostgreSQL, in UNIX seconds.
    ///   - ours: the times before and after the look.
    private func compare(_ theirs: Int, with ours: ClosedRange<Int>) {
        let difference = min(max(theirs, ours.lowerBound), ours.upperBound) - theirs
        self.past.clockSeconds = difference
        let isFar = abs(difference) > Self.clockLimit
        if isFar, !self.isClockTold { self.setup.onEvent(.clock(seconds: difference)) }
        self.isClockTold = isFar
    }

    private func tell(trouble: String) {
        guard trouble != self.lastTrouble else { return }
        self.lastTrouble = trouble
        self.setup.onEvent(.trouble(shard: nil, trouble))
    }

    private func looked(_ rows: [FreeShard], sentAt: NIODeadline) {
        if self.lastTrouble != nil, !self.past.isPostgresUp {
            self.lastTrouble = nil
            self.setup.onEvent(.answered)
        }
        self.past.isPostgresUp = true
        guard !Task.isCancelled else { return }
        let now = NIODeadline.sinceBoot
        if !self.isReloading {
            for free in self.look.looked(rows, sentAt: sentAt, kept: Set(self.owners.keys), now: now) { self.own(free) }
        }
        // A shard has no port while its owner reads its segments.
        let recovering = self.owners.filter { $0.value.gateway == nil }.keys
        let closed = Set(rows.map(\.shard)).subtracting(self.owners.keys).union(recovering)
        self.closedSince = self.closedSince.filter { closed.contains($0.key) }
        self.ownerless.formIntersection(closed)
        for shard in closed {
            let since = self.closedSince[shard, default: now]
            self.closedSince[shard] = since
            if since + Self.patience <= now, self.ownerless.insert(shard).inserted {
                self.setup.onEvent(.ownerless(shard: shard))
            }
        }
        self.past.ownerless = self.ownerless.count
    }

    private func own(_ free: FreeShard) {
        let group = self.groups[free.shard] ?? MultiThreadedEventLoopGroup(numberOfThreads: 1)
        self.groups[free.shard] = group
        self.beginning.insert(free.shard)
        let owner = ShardOwner(free, self.setup, self.sightings, on: group.next()) { await self.began(free.shard) }
        self.owners[free.shard] = owner
        self.tasks[free.shard] = Task {
            let ending = await owner.run()
            self.ended(owner, ending)
        }
    }

    private func ended(_ owner: ShardOwner, _ ending: ShardOwner.Ending) {
        self.owners[owner.shard] = nil
        self.tasks[owner.shard] = nil
        let figures = owner.figures
        self.past.takes += figures.takes
        self.past.returns += figures.returns
        self.past.fenced += figures.fenced
        self.past.sentWithoutRight += figures.sentWithoutRight
        if let left = owner.left {
            // A reload may have changed the tables.
            var sum = GatewaySnapshot(self.numbers.tables)
            sum.add(self.pastSnapshot)
            sum.add(left)
            self.pastSnapshot = sum
        }
        switch ending {
        case .notTaken: break
        case .refused(let reason):
            self.look.refused(owner.shard, now: .sinceBoot)
            self.setup.onEvent(.refused(shard: owner.shard, reason))
        case .ended(let isKept): self.isKept = self.isKept && isKept
        }
    }

    // MARK: The operator

    /// The gateways that run now, by their shards.
    package var gateways: [Int: Gateway] { self.owners.compactMapValues(\.gateway) }

    /// The figures of all gateways that this process has had, and of its shards. Cost: one turn of each event loop.
    var snapshot: (sum: GatewaySnapshot, figures: ShardFigures) {
        get async {
            var all: [(owner: ShardOwner, snapshot: GatewaySnapshot?)] = []
            for owner in self.owners.values { all.append((owner, await owner.snapshot)) }
            let feedback = try? await self.feedback?.snapshot
            // An owner that ended meanwhile counts among the past ones.
            let shards = Dictionary(
                all.compactMap { owner, snapshot in
                    self.owners[owner.shard] === owner ? snapshot.map { (owner.shard, $0) } : nil
                },
                uniquingKeysWith: { $1 }
            )
            var sum = GatewaySnapshot(self.numbers.tables)
            var figures = self.figures
            sum.add(self.pastSnapshot)
            for snapshot in shards.values { sum.add(snapshot) }
            if let feedback { sum.add(feedback) }
            figures.late = sum.figures.late
            for index in figures.owned.indices {
                guard let snapshot = shards[figures.owned[index].shard] else { continue }
                figures.owned[index].take(snapshot)
            }
            if !figures.isPostgresUp { sum.figures.store = .troubled }
            return (sum, figures)
        }
    }

    /// The number of lines that the list of rejections never gets, because they were given up. Only shards that are
    /// over count.
    package var unlisted: Int { self.pastSnapshot.figures.counts.unlisted }

    package var figures: ShardFigures {
        var past = self.past
        past.misrouted = self.sightings.misrouted
        return self.owners.values.reduce(into: past) { sum, owner in
            let figures = owner.figures
            sum.owned += figures.owned
            sum.takes += figures.takes
            sum.returns += figures.returns
            sum.fenced += figures.fenced
            sum.sentWithoutRight += figures.sentWithoutRight
        }
    }

    // MARK: The end

    /// Gives all shards up, and waits for their end.
    ///
    /// - Returns: whether each notification that this process has read has its answer, or is in PostgreSQL.
    @discardableResult
    package func shutDown() async -> Bool {
        self.looking?.cancel()
        self.trimming?.cancel()
        for owner in self.owners.values { owner.end() }
        for task in self.tasks.values { await task.value }
        await self.looking?.value
        _ = await self.feedback?.shutDown(within: .seconds(5))
        self.feedback = nil
        for group in self.groups.values { try? await group.shutdownGracefully() }
        self.groups = [:]
        return self.isKept
    }
}

extension ShardFigures.Owned {
    fileprivate mutating func take(_ snapshot: GatewaySnapshot) {
        self.appends = snapshot.loop.commits
        self.segments = snapshot.figures.segments
        self.counts = snapshot.figures.counts
        self.connections = snapshot.figures.clients.reduce(0) { $0 + $1.connections }
        self.underWay = snapshot.figures.underWay
    }
}
