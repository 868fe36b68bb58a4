internal import FerryCore
package import FerryGateway
package import FerryMachine
internal import FerryPlatform
internal import FerryPostgres
internal import NIOCore
internal import NIOPosix

/// A process of a gateway on several machines. It looks for free shards, and runs a gateway for each shard that it owns.
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
        /// The name of this process. No other has it.
        package var node: String
        package var away: ShardAway
        /// The configuration of each gateway. The ports of its doors are those of shard 0; shard n has the n-th port after
        /// them. The process sets the store.
        package var gateway: Gateway.Configuration
        /// Makes the upstreams of one shard. They send only with this right.
        package var upstreams: @Sendable (ForwardingRight) throws -> [GatewayUpstream]
        /// How long the end of a gateway may take.
        package var shutdownLimit: Duration
        /// Gets the events, on any thread.
        package var onEvent: @Sendable (ShardEvent) -> Void

        package init(
            connection: String,
            node: String,
            away: ShardAway = .wait,
            gateway: Gateway.Configuration,
            shutdownLimit: Duration = .seconds(30),
            onEvent: @escaping @Sendable (ShardEvent) -> Void = { _ in },
            upstreams: @escaping @Sendable (ForwardingRight) throws -> [GatewayUpstream]
        ) {
            self.connection = connection
            self.node = node
            self.away = away
            self.gateway = gateway
            self.shutdownLimit = shutdownLimit
            self.onEvent = onEvent
            self.upstreams = upstreams
        }
    }

    /// How long a shard has no port until operators hear of it.
    private static let patience: TimeAmount = .seconds(10)
    private static let lookLimit: Duration = .seconds(3)
    /// The difference between this machine's clock and PostgreSQL's of which operators hear, in seconds.
    private static let clockLimit = 5

    private let setup: Setup
    private let rules = ShardRules.standard
    private let sightings: PostgresSightings
    private var look: ShardLook
    private var session: PostgresSession?
    private var owners: [Int: ShardOwner] = [:]
    private var tasks: [Int: Task<Void, Never>] = [:]
    /// The event loop of each shard that this process has owned, until the process ends.
    private var groups: [Int: MultiThreadedEventLoopGroup] = [:]
    private var looking: Task<Void, Never>?
    private var feedback: Gateway?
    private var closedSince: [Int: NIODeadline] = [:]
    private var ownerless: Set<Int> = []
    private var isClockTold = false
    private var lastTrouble: String?
    private var isKept = true
    /// The sums of owners that are over.
    private var past = ShardFigures()

    package init(_ setup: Setup) {
        self.setup = setup
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
    /// - Throws: ``StoreError`` with a sentence when the database cannot be used, and ``ListenFault`` when the port of the
    ///   feedback service cannot be bound.
    @discardableResult
    package func start() async throws -> Int {
        let count = try await Self.check(connection: self.setup.connection, node: self.setup.node)
        try await self.startFeedback()
        self.looking = Task { await self.keepLooking() }
        return count
    }

    /// Checks that the database can be used. Returns the number of shards.
    package static func check(connection: String, node: String) async throws(StoreError) -> Int {
        // An owner's session has settings that a pooler refuses or forgets.
        let place = PostgresStore.Place(connection: connection, shard: 0, node: node)
        let database = PostgresSetup(PostgresStore.settings(place))
        defer { database.close() }
        do throws(PostgresError) {
            return try await database.check()
        } catch {
            throw StoreError(error.description)
        }
    }

    // MARK: The feedback service

    /// The port of the feedback service; nil without one.
    package var feedbackPort: Int? { self.feedback?.feedbackPort }

    /// The feedback service belongs to no shard: every process gives every client's rows.
    private func startFeedback() async throws {
        var configuration = self.setup.gateway
        guard configuration.doors.contains(where: { $0.feedbackPort != nil }) else { return }
        for index in configuration.doors.indices { configuration.doors[index].hasClients = false }
        configuration.store = FeedbackStore(
            PostgresFeedback(connection: self.setup.connection, node: self.setup.node)
        )
        configuration.list = nil
        self.feedback = try await Gateway.start(configuration, upstreams: [])
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
            self.looked(FreeShard.all(rows), sentAt: sentAt)
            if let theirs = rows.integer(0, 4) { self.compare(Int(theirs), with: clock...max(clock, Int(time(nil)))) }
        } catch {
            return self.lost(session, error)
        }
        do throws(PostgresError) {
            _ = try await session.send(PostgresStatement(ShardSQL.terminate), within: Self.lookLimit)
        } catch {
            // A role may lack the right. Then an owner that hangs in the middle of a message keeps its shard.
            guard error.kind == .refused else { return self.lost(session, error) }
            self.tell(trouble: error.description)
        }
    }

    private func lost(_ session: PostgresSession, _ error: PostgresError) {
        session.close()
        self.session = nil
        self.look.sessionEnded()
        self.past.isPostgresUp = false
        // Without a look nobody knows which shards are free.
        self.closedSince = [:]
        if !Task.isCancelled { self.tell(trouble: error.description) }
    }

    /// Compares the clocks. Segments and provider tokens have the time of the machine that wrote them.
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
        if !self.past.isPostgresUp { self.lastTrouble = nil }
        self.past.isPostgresUp = true
        guard !Task.isCancelled else { return }
        let now = NIODeadline.sinceBoot
        for free in self.look.looked(rows, sentAt: sentAt, kept: Set(self.owners.keys), now: now) { self.own(free) }
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
        let owner = ShardOwner(free, self.setup, self.sightings, on: group.next())
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

    /// The counts of each gateway. Cost: one turn of each event loop.
    package var counts: [Int: FateCounts] {
        get async {
            var all: [Int: FateCounts] = [:]
            for (shard, gateway) in self.gateways { all[shard] = try? await gateway.counts }
            return all
        }
    }

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

extension FreeShard {
    /// Reads the rows of a look.
    fileprivate static func all(_ rows: PostgresRows) -> [FreeShard] {
        (0..<rows.count).compactMap { row in
            guard let shard = rows.integer(row, 0), let term = rows.text(row, 1) else { return nil }
            return FreeShard(
                shard: Int(shard),
                term: ShardTerm(term),
                isFreed: rows.boolean(row, 2) ?? false,
                wanted: rows.text(row, 3)
            )
        }
    }
}
