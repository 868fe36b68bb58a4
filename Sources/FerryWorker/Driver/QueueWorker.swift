internal import FerryCore
package import FerryPostgres
package import NIOCore

/// A worker of the queue: connections to PostgreSQL that take rows, deliver them and write their outcomes.
///
/// Any number of workers, in any processes, may serve one database. They know nothing of each other. A worker locks the
/// rows that it delivers, so no other worker takes them.
///
/// `@unchecked Sendable`: everything but `configuration`, `settings`, `upstreams` and `eventLoop`, which never change,
/// is used on the event loop only.
package final class QueueWorker: @unchecked Sendable {
    let configuration: Configuration
    let settings: PostgresSettings
    private let upstreams: [WorkerUpstream]
    package let eventLoop: any EventLoop
    /// The notifications of taken rows, for each upstream. They are submitted or removed before the turn of the event
    /// loop ends.
    let batches: [UpstreamBatch]

    private var connections: [WorkerConnection] = []
    private var care: QueueCare?
    private var held = HeldClients()
    private var counts = Figures()
    private var isLate = false
    /// Whether the last select that was no trial took the rows that have been due longest.
    private var tookOldest = false
    private var onFinished: [EventLoopPromise<Void>] = []

    /// Checks the database, and begins to take rows.
    ///
    /// - Parameters:
    ///   - upstreams: ``WorkerClient/upstream`` is an index into this array. Each provider needs room for
    ///     ``WorkerUpstream/room(connections:batch:)`` notifications, ``BatchMachine/sendLimit`` as its deadline, and
    ///     no delays of its own. The caller shuts the providers down.
    /// - Throws: ``PostgresError`` with a sentence, if the database cannot be used.
    package static func start(
        _ configuration: Configuration,
        upstreams: [WorkerUpstream],
        on eventLoop: any EventLoop
    ) async throws(PostgresError) -> QueueWorker {
        try await self.check(configuration)
        let worker = QueueWorker(configuration, upstreams, eventLoop)
        eventLoop.execute { worker.begin() }
        return worker
    }

    /// Checks that a worker could use the database. Throws ``PostgresError`` with a sentence if not.
    package static func check(_ configuration: Configuration) async throws(PostgresError) {
        let setup = PostgresSetup(configuration.postgres)
        defer { setup.close() }
        _ = try await setup.check([.worker])
        // A session with the worker's settings fails if a pooler stands in front.
        let session = PostgresSession(Self.settings(configuration))
        defer { session.close() }
        _ = try await session.send(PostgresStatement("select 1"), within: .seconds(10))
    }

    private static func settings(_ configuration: Configuration) -> PostgresSettings {
        PostgresSettings(configuration.postgres, name: "ferry worker", parameters: WorkerSQL.parameters)
    }

    private init(_ configuration: Configuration, _ upstreams: [WorkerUpstream], _ eventLoop: any EventLoop) {
        self.configuration = configuration
        self.settings = Self.settings(configuration)
        self.upstreams = upstreams
        self.eventLoop = eventLoop
        self.batches = upstreams.map { _ in UpstreamBatch() }
    }

    private func begin() {
        self.connections = (0..<max(self.configuration.connections, 1)).map { WorkerConnection($0, of: self) }
        for upstream in self.upstreams {
            upstream.outcomes.onOutcomes { records in self.eventLoop.execute { self.settled(records) } }
        }
        let care = QueueCare(of: self)
        self.care = care
        care.begin()
        for connection in self.connections { connection.run() }
    }

    /// Takes no more rows. Returns when the outcomes of all sent rows are written, or after `limit` and at most
    /// another second. A row without an answer is due again within a minute after its batch was written, for any
    /// worker.
    package func stop(within limit: Duration) async {
        let promise = self.eventLoop.makePromise(of: Void.self)
        self.eventLoop.execute {
            self.onFinished.append(promise)
            self.care?.stop()
            self.care = nil
            for connection in self.connections { connection.stop(within: TimeAmount(limit)) }
            self.connectionFinished()
        }
        try? await promise.futureResult.get()
    }

    package var figures: Figures {
        get async {
            let promise = self.eventLoop.makePromise(of: Figures.self)
            self.eventLoop.execute {
                var figures = self.counts
                figures.held = self.heldNames.sorted()
                figures.unanswered = self.connections.reduce(0) { $0 + $1.unanswered }
                promise.succeed(figures)
            }
            return (try? await promise.futureResult.get()) ?? Figures()
        }
    }

    // MARK: For the connections

    func connectionFinished() {
        guard self.connections.allSatisfy(\.isFinished) else { return }
        self.connections = []
        for promise in self.onFinished { promise.succeed() }
        self.onFinished = []
        for upstream in self.upstreams { upstream.outcomes.onOutcomes { _ in } }
    }

    /// Whether a connection of this worker has sent a row whose fate is not written.
    func hasUnwritten(_ id: Int64) -> Bool { self.connections.contains { $0.hasUnwritten(id) } }

    /// Gives the rows in ``batches`` to their upstreams. Returns the tags of rows that an upstream did not take.
    func submit() -> [UInt64] {
        var refused: [UInt64] = []
        for (upstream, batch) in zip(self.upstreams, self.batches) where !batch.batch.isEmpty {
            upstream.provider.trySubmit(&batch.batch)
            while let submission = batch.batch.popFirst() { refused.append(submission.tag.rawValue) }
        }
        return refused
    }

    func clearBatches() {
        for batch in self.batches where !batch.batch.isEmpty { batch.batch.removeAll() }
    }

    private func settled(_ records: [OutcomeRecord]) {
        var changed: Set<Int> = []
        for record in records {
            let number = WorkerConnection.number(of: record.tag)
            guard self.connections.indices.contains(number) else { continue }
            self.connections[number].answered(record)
            changed.insert(number)
        }
        for number in changed { self.connections[number].run() }
    }

    // MARK: Held clients

    /// The names of the clients whose rows are left alone.
    var heldNames: [String] { self.held.clients.map { self.configuration.clients[$0].name } }

    func isHeld(_ client: Int) -> Bool { self.held.contains(client) }

    private var size: Int64 { Int64(self.configuration.batch) }

    /// Returns the select of the next batch. With several clients, selects by age and by client alternate. By age
    /// alone, the million rows of one client would come before the single row of another client. While a client is
    /// held, every select goes by client.
    func nextTake() -> PostgresStatement {
        let held = self.heldNames
        self.tookOldest = held.isEmpty && (!self.tookOldest || self.configuration.clients.count == 1)
        return self.tookOldest
            ? PostgresStatement(WorkerSQL.takeOldest, [.integer(self.size)])
            : PostgresStatement(WorkerSQL.takeByClient, [.texts(held), .integer(self.size)])
    }

    /// Returns the number of the held client that is tried now, and the select of its rows; nil if no trial is due.
    func nextTrial() -> (client: Int, take: PostgresStatement)? {
        guard let (client, rows) = self.held.trial(now: .sinceBoot) else { return nil }
        let name = PostgresValue.text(self.configuration.clients[client].name)
        let take =
            switch rows {
            case .newest: PostgresStatement(WorkerSQL.takeNewestOfClient, [name])
            case .oldest: PostgresStatement(WorkerSQL.takeOfClient, [name, .integer(1)])
            case .batch: PostgresStatement(WorkerSQL.takeOfClient, [name, .integer(self.size)])
            }
        return (client, take)
    }

    /// Notes that a trial found rows, and none to send.
    func giveBackTrial(of client: Int) { self.held.giveBack(client, now: .sinceBoot) }

    func note(_ sign: ClientSign, of client: Int) {
        guard let change = self.held.note(sign, of: client, now: .sinceBoot) else { return }
        let name = self.configuration.clients[client].name
        switch change {
        case .held(let cause): self.configuration.onEvent(.held(client: name, cause))
        case .released: self.configuration.onEvent(.released(client: name))
        }
    }

    // MARK: Figures

    func noteBatch(_ time: TimeAmount) { self.counts.batches.add(nanoseconds: time.nanoseconds) }

    func committed(_ write: BatchMachine.Write) {
        for ended in write.endings { self.counts.outcomes[ended.ending.word, default: 0] += 1 }
        self.counts.retries += write.delays.count { $0.attempts > 0 }
        guard !self.counts.hasPostgres else { return }
        self.counts.hasPostgres = true
        self.configuration.onEvent(.postgresBack)
    }

    func sessionLost(_ reason: String) {
        // Connections usually lose their sessions for the same reason, so one event is enough until PostgreSQL is
        // back.
        guard self.counts.hasPostgres else { return }
        self.counts.hasPostgres = false
        self.configuration.onEvent(.postgresLost(reason))
    }

    func note(_ queue: Figures.Queue) {
        self.counts.queue = queue
        let isLate = queue.age > .seconds(60)
        guard isLate != self.isLate else { return }
        self.isLate = isLate
        self.configuration.onEvent(isLate ? .late(seconds: Int(queue.age.components.seconds)) : .inTime)
    }
}
