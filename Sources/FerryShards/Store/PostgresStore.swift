internal import DequeModule
internal import FerryCore
package import FerryGateway
package import FerryMachine
internal import FerryPostgres
package import NIOCore

/// The store of one shard in PostgreSQL, for the shard's owner. The store carries out the actions of a
/// ``ShardKeeper``.
///
/// ```
///   gateway ──append──▶ PostgresStore ──▶ ShardKeeper ──send──▶ PostgresSession, one at a time
///           ◀──answer──                ◀──           ◀─answered─
/// ```
///
/// The store runs on the event loop of its gateway. So a gateway that hangs sends no beats, and loses its shard.
///
/// `@unchecked Sendable`: everything that changes is used on the event loop only, or is behind a lock.
package final class PostgresStore: SharedStore, @unchecked Sendable {
    /// A shard, its database, and the process that takes the shard.
    package struct Place: Sendable {
        /// A connection string of libpq.
        package var connection: String
        package var shard: Int
        /// The name of this process. Each process must have a different name.
        package var node: String
        package var away: ShardAway

        package init(connection: String, shard: Int, node: String, away: ShardAway = .wait) {
            self.connection = connection
            self.shard = shard
            self.node = node
            self.away = away
        }
    }

    /// News for the process that runs the gateway.
    package enum News: Hashable, Sendable {
        case taken
        /// The right to forward has begun or ended.
        case right(isHeld: Bool)
        /// The owner is back after its session had ended.
        case returned
        case wanted(by: String)
        case fenced
        /// All commits that the fenced owner has got so far are handed over and settled: see ``ShardRules/settle``.
        case handOverIsSafe
        /// A sentence about PostgreSQL for operators. The same sentence comes twice in a row only if the right to
        /// forward was extended in between.
        case trouble(String)
        case over(ShardEnding)
    }

    private enum Stage {
        case new
        case opening(CheckedContinuation<Result<Opening, StoreError>, Never>)
        case open(epoch: UInt64)
        case over
    }

    private struct Opening {
        var taken: ShardTaken
        var hashKey: [UInt8]
    }

    /// How long a statement of the keeper may take. The keeper gives a silent session up sooner.
    private static let statementLimit: Duration = .seconds(60)
    /// How long a read is tried again while the owner comes back. Each try may take this long, too.
    private static let readLimit: Duration = .seconds(10)
    private static let readPause: Duration = .milliseconds(200)
    /// How long ``close()`` waits for PostgreSQL.
    private static let closeLimit: TimeAmount = .seconds(4)
    /// The largest length of the segments that are forwarded from memory while PostgreSQL is away, in bytes. Segments
    /// that waited when forwarding from memory began do not count.
    private static let servedLimit = 256 << 20
    private static let isClosed = StoreError("The store is closed.")
    private static let closedAnswer = StoreAnswer.unavailable(PostgresStore.isClosed.description)

    package let right = ForwardingRight { .sinceBoot }
    private let place: Place
    /// The gateway's event loop; nil when the store is over, because the loop may end then.
    private let loop: Locked<(any EventLoop)?>
    private let onNews: @Sendable (News) -> Void
    private let feedbackRows: PostgresFeedback
    private let ring = Locked(0)
    private let lost = Locked(false)
    private let uncertain = Locked(false)
    private let settled = Locked<@Sendable () async -> Bool>({ true })

    private var stage = Stage.new
    private var keeper: ShardKeeper
    private var inputs: Deque<ShardInput> = []
    private var line: (id: ShardSession, session: PostgresSession, hasCommits: Bool)?
    private var hashKey: [UInt8] = []
    /// The epoch before the take; nil before the take, and after the first commit.
    private var unusedEpoch: Int64?
    /// The commits whose answer the gateway waits for.
    private var waiting: Deque<(number: UInt64, then: @Sendable (StoreAnswer) -> Void)> = []
    /// The commits that the gateway counts as durable, although PostgreSQL has not answered them: the length that
    /// counts for ``servedLimit``, by the number of the commit.
    private var served: [UInt64: Int] = [:]
    private var servedLength = 0
    private var isServing = false
    private var rightEnd = NIODeadline.distantPast
    private var isHeld = false
    private var isFenced = false
    private var fencedBody: (@Sendable () -> Void)?
    private var late: [StoredSegment] = []
    private var lateBody: (@Sendable ([StoredSegment]) -> Void)?
    private var closers: [CheckedContinuation<Void, Never>] = []
    private var abandonment: Scheduled<Void>?
    private var lastTrouble: String?
    /// Why PostgreSQL refuses this owner until an operator acts; nil without such a refusal.
    private var refusal: String?
    private var timer: (deadline: NIODeadline, task: Scheduled<Void>)?

    /// - Parameters:
    ///   - seen: the term under which the shard was seen free.
    ///   - eventLoop: the gateway's event loop.
    ///   - onNews: called on the event loop.
    package init(
        _ place: Place,
        seen: ShardTerm,
        on eventLoop: any EventLoop,
        onNews: @escaping @Sendable (News) -> Void = { _ in }
    ) {
        self.place = place
        self.loop = Locked(eventLoop)
        self.onNews = onNews
        self.feedbackRows = PostgresFeedback(connection: place.connection, node: place.node)
        self.keeper = ShardKeeper(
            shard: place.shard,
            seen: seen,
            node: place.node,
            away: place.away,
            now: .sinceBoot
        )
    }

    /// Parameters of an owner's session. The server ends a session that sends no statement for 4 s. This frees the
    /// shard's lock.
    private static let parameters = PostgresSettings.committing.merging([
        "idle_session_timeout": "\(ShardRules.standard.idle.nanoseconds / 1_000_000_000)s"
    ]) { $1 }

    /// The settings of an owner's session.
    static func settings(_ place: Place) -> PostgresSettings {
        PostgresSettings(
            place.connection,
            name: "ferry \(place.node) shard \(place.shard)",
            parameters: Self.parameters
        )
    }

    /// Queues `body` on the event loop. Returns false, and drops `body`, if the store is over.
    @discardableResult
    private func execute(_ body: @escaping @Sendable () -> Void) -> Bool {
        self.loop.withLock { loop in
            loop?.execute(body)
            return loop != nil
        }
    }

    /// The number of bytes of acknowledged commits that are kept, to write them again.
    package var ringLength: Int { self.ring.withLock { $0 } }

    /// Whether a fenced owner has commits that are not handed over, or that a failover may still lose.
    /// ``News/handOverIsSafe`` reports that a running store has no more such commits.
    package var mayLoseHandOver: Bool { self.uncertain.withLock { $0 } }

    /// Whether the store has ended, and PostgreSQL may lack what was forwarded from memory or handed over.
    package var hasLost: Bool { self.lost.withLock { $0 } }

    /// Sets a closure that says whether each notification that went to APNs has its answer. ``close()`` calls it.
    package func isSettled(_ body: @escaping @Sendable () async -> Bool) { self.settled.withLock { $0 = body } }

    // MARK: GatewayStore

    package func open() async throws(StoreError) -> StoreOpening {
        let result: Result<Opening, StoreError> = await withCheckedContinuation { continuation in
            let isOpened = self.execute {
                guard case .new = self.stage else {
                    return continuation.resume(returning: .failure(StoreError("The store was opened before.")))
                }
                self.stage = .opening(continuation)
                self.take(.timePassed)
            }
            if !isOpened { continuation.resume(returning: .failure(Self.isClosed)) }
        }
        let opening = try result.get()
        do throws(StoreError) {
            let last = try await self.read(PostgresStatement(ShardSQL.last, [self.id])).integer(0, 0)
            let number = last.map { UInt64(bitPattern: $0) } ?? 0
            return StoreOpening(
                node: opening.taken.node,
                epoch: opening.taken.epoch,
                hashKey: opening.hashKey,
                last: number
            )
        } catch {
            await self.close()
            throw error
        }
    }

    private var id: PostgresValue { .integer(Int64(self.place.shard)) }

    package func segments(after: UInt64) async throws(StoreError) -> [StoredSegment] {
        let rows = try await self.read(
            PostgresStatement(ShardSQL.segments, [self.id, .integer(Int64(bitPattern: after))])
        )
        return (0..<rows.count).compactMap { row in
            guard let number = rows.integer(row, 0), let bytes = rows.bytes(row, 1) else { return nil }
            return StoredSegment(number: UInt64(bitPattern: number), bytes: bytes)
        }
    }

    package func rows(_ table: StoreTable) async throws(StoreError) -> [StoreRow] {
        var all: [StoreRow] = []
        while true {
            let page = try await self.rows(table, after: all.last?.key ?? [], limit: 10_000)
            guard !page.isEmpty else { return all }
            all += page
        }
    }

    /// Readers get the rows of ``StoreTable/feedback`` with ``feedback(of:)``, so here this table is empty.
    package func rows(_ table: StoreTable, after: [UInt8], limit: Int) async throws(StoreError) -> [StoreRow] {
        let limit = PostgresValue.integer(Int64(limit))
        switch table {
        case .feedback: return []
        case .habits: return try await self.rows(ShardSQL.habits, [.bytes(after), limit])
        case .rejections:
            let job = after.reduce(Int64(0)) { $0 << 8 | Int64($1) }
            return try await self.rows(ShardSQL.rejections, [self.id, .integer(job), limit])
        case .list, .gates, .letters, .copy:
            return try await self.rows(ShardSQL.rows, [self.id, .integer(Int64(table.rawValue)), .bytes(after), limit])
        }
    }

    package func rows(_ table: StoreTable, keys: [[UInt8]]) async throws(StoreError) -> [StoreRow] {
        switch table {
        case .feedback, .rejections: return []
        case .habits: return try await self.rows(ShardSQL.habitsByKey, [.byteStrings(keys)])
        case .list, .gates, .letters, .copy:
            return try await self.rows(
                ShardSQL.rowsByKey,
                [self.id, .integer(Int64(table.rawValue)), .byteStrings(keys)]
            )
        }
    }

    private func rows(_ text: StaticString, _ values: [PostgresValue]) async throws(StoreError) -> [StoreRow] {
        let rows = try await self.read(PostgresStatement(text, values))
        return (0..<rows.count).compactMap { row in
            guard let key = rows.bytes(row, 0), let value = rows.bytes(row, 1) else { return nil }
            return StoreRow(key: key, value: value)
        }
    }

    /// Reads on the owner's session. If the session ends meanwhile, the read is tried on the next session. A refused
    /// read is not tried again.
    private func read(_ statement: PostgresStatement) async throws(StoreError) -> PostgresRows {
        let deadline = ContinuousClock.now + Self.readLimit
        var reason = "PostgreSQL does not answer."
        var isRefused = false
        // A recovery makes many reads. If it is cancelled, no further try begins.
        while !isRefused && ContinuousClock.now < deadline && !Task.isCancelled {
            if let session = try await self.session() {
                do throws(PostgresError) {
                    return try await session.send(statement, within: Self.readLimit)
                } catch {
                    reason = error.description
                    isRefused = error.kind == .refused
                }
            }
            if !isRefused { try? await Task.sleep(for: Self.readPause) }
        }
        // Without a refusal, PostgreSQL may answer soon. `isInUse` lets the shard be taken again at once.
        throw StoreError("Shard \(self.place.shard) cannot be read. \(reason)", isInUse: !isRefused)
    }

    /// The present session of the owner; nil between two sessions.
    private func session() async throws(StoreError) -> PostgresSession? {
        let answer: Result<PostgresSession?, StoreError> = await withCheckedContinuation { continuation in
            let isOpen = self.execute { continuation.resume(returning: .success(self.line?.session)) }
            if !isOpen { continuation.resume(returning: .failure(Self.isClosed)) }
        }
        return try answer.get()
    }

    package func append(_ commit: StoreCommit, then: @escaping @Sendable (StoreAnswer) -> Void) {
        guard let isInLoop = self.loop.withLock({ $0?.inEventLoop }) else { return then(Self.closedAnswer) }
        guard isInLoop else {
            if !self.execute({ self.append(commit, then: then) }) { then(Self.closedAnswer) }
            return
        }
        guard case .open(let epoch) = self.stage else { return then(Self.closedAnswer) }
        guard commit.epoch == epoch else { return then(.fenced) }
        self.unusedEpoch = nil
        self.waiting.append((commit.segment.number, then))
        self.take(.commit(commit))
        if self.isServing { self.serve(commit) }
    }

    package func close() async {
        let isClean = await self.settled.withLock { $0 }()
        await withCheckedContinuation { continuation in
            let isOpen = self.execute {
                switch self.stage {
                case .new, .over:
                    self.stage = .over
                    self.loop.withLock { $0 = nil }
                    continuation.resume()
                case .opening, .open:
                    self.closers.append(continuation)
                    self.abandonment = self.loop.withLock {
                        $0?.scheduleTask(in: Self.closeLimit) { self.take(.abandon) }
                    }
                    self.take(.finish(isClean: isClean))
                }
            }
            if !isOpen { continuation.resume() }
        }
    }

    // MARK: SharedStore

    package func onFenced(_ body: @escaping @Sendable () -> Void) {
        self.execute {
            self.fencedBody = body
            if self.isFenced { body() }
        }
    }

    package func onLate(_ body: @escaping @Sendable ([StoredSegment]) -> Void) {
        self.execute {
            self.lateBody = body
            if !self.late.isEmpty { body(self.late) }
            self.late = []
        }
    }

    package func feedback(of client: String) async throws(StoreError) -> any FeedbackClaim {
        try await self.feedbackRows.take(client)
    }

    // MARK: The keeper

    /// Passes an input to the keeper. An input that comes while actions are carried out waits.
    private func take(_ input: ShardInput) {
        self.inputs.append(input)
        guard self.inputs.count == 1 else { return }
        while let input = self.inputs.first {
            for action in self.keeper.handle(input, now: .sinceBoot) { self.carryOut(action) }
            self.inputs.removeFirst()
        }
        self.ring.withLock { $0 = self.keeper.ringLength }
        self.lookAtHandOver()
        self.lookAtRight()
        self.schedule()
        guard case .over = self.stage else { return }
        self.loop.withLock { $0 = nil }
        for closer in self.closers { closer.resume() }
        self.closers = []
    }

    private func lookAtHandOver() {
        let mayLoseHandOver = self.keeper.mayLoseHandOver
        guard self.mayLoseHandOver != mayLoseHandOver else { return }
        self.uncertain.withLock { $0 = mayLoseHandOver }
        // ``News/over(_:)`` says whether everything was handed over.
        if case .over = self.stage { return }
        if !mayLoseHandOver { self.onNews(.handOverIsSafe) }
    }

    private func carryOut(_ action: ShardAction) {
        switch action {
        case .connect(let session): self.connect(session)
        case .close(let session):
            guard let line, line.id == session else { break }
            line.session.close()
            self.line = nil
        case .send(let statement, let session): self.send(statement, session)
        case .owns(let taken):
            guard case .opening(let continuation) = self.stage else { break }
            self.stage = .open(epoch: taken.epoch)
            self.keepMemory()
            self.onNews(.taken)
            continuation.resume(returning: .success(Opening(taken: taken, hashKey: self.hashKey)))
        case .late(let segments):
            if let lateBody { lateBody(segments) } else { self.late += segments }
        case .answer(let number, let answer): self.answer(number, answer)
        case .right(.until(let end)):
            // The right grows only after an answer of PostgreSQL, when no commit from before a come-back is missing.
            // So the last fault is over. The next fault is reported even if its sentence is the same.
            if end > self.rightEnd { self.lastTrouble = nil }
            self.isServing = false
            self.rightEnd = end
            self.right.set(until: end)
        case .right(.fromMemory):
            self.isServing = true
            self.rightEnd = .distantFuture
            // No error response is written for a notification that is not durable.
            self.right.set(until: .distantFuture, telling: .distantPast)
            self.serveWaiting()
        case .wanted(let node): self.onNews(.wanted(by: node))
        case .fenced:
            self.isFenced = true
            self.onNews(.fenced)
            self.fencedBody?()
        case .trouble(let reason): self.trouble(reason)
        case .over(let ending): self.end(ending)
        }
    }

    private func end(_ ending: ShardEnding) {
        if case .opening(let continuation) = self.stage {
            let reason = self.refusal ?? self.lastTrouble ?? "Another process has it."
            // A `refusal` lasts: PostgreSQL would refuse the next take for the same reason. So `isInUse` is false
            // then, and the next take waits for a minute.
            continuation.resume(
                returning: .failure(
                    StoreError("Shard \(self.place.shard) was not taken. \(reason)", isInUse: self.refusal == nil)
                )
            )
        }
        self.stage = .over
        if !self.served.isEmpty {
            self.lost.withLock { $0 = true }
            self.trouble(
                "Notifications that were forwarded from memory are not in PostgreSQL: the process ends before."
            )
        }
        if case .abandoned(mayLoseHandOver: true) = ending {
            self.lost.withLock { $0 = true }
            self.trouble("PostgreSQL may lack notifications that were handed over last: it did not answer after them.")
        }
        for (_, then) in self.waiting { then(Self.closedAnswer) }
        self.waiting = []
        self.abandonment?.cancel()
        self.onNews(.over(ending))
    }

    private func trouble(_ reason: String) {
        guard reason != self.lastTrouble else { return }
        self.lastTrouble = reason
        self.onNews(.trouble(reason))
    }

    // MARK: Answers

    private func answer(_ number: UInt64, _ answer: StoreAnswer) {
        if let length = self.served.removeValue(forKey: number) {
            self.servedLength -= length
        } else if let (_, then) = self.waiting.popFirst() {
            then(answer)
        }
    }

    /// Lets the gateway forward a commit that PostgreSQL has not answered. A commit beyond ``servedLimit`` waits for
    /// PostgreSQL. Later commits wait, too, because the answers come in order.
    private func serve(_ commit: StoreCommit) {
        let length = commit.segment.bytes.count
        guard self.servedLength + length <= Self.servedLimit, self.waiting.count == 1 else { return }
        self.served[commit.segment.number] = length
        self.servedLength += length
        self.waiting.removeFirst().then(.durable)
    }

    private func serveWaiting() {
        while let (number, then) = self.waiting.popFirst() {
            self.served[number] = 0
            then(.durable)
        }
    }

    // MARK: Sessions

    private func connect(_ id: ShardSession) {
        let session = PostgresSession(Self.settings(self.place)) { error in
            self.execute {
                if let error { self.trouble(error.description) }
                self.take(.ended(id))
            }
        }
        self.line = (id, session, false)
        session.send(PostgresStatement(ShardSQL.meta), within: Self.statementLimit) { answer in
            self.execute { self.connected(id, answer) }
        }
    }

    private func connected(_ id: ShardSession, _ answer: PostgresSession.Answer) {
        guard let line, line.id == id else { return }
        switch answer {
        case .success(let rows) where rows.integer(0, 0).map { PostgresSchema.accepts(Int($0)) } ?? false:
            self.hashKey = rows.bytes(0, 1) ?? []
            return self.take(.connected(id))
        case .success(let rows):
            let condition = rows.integer(0, 0).map { PostgresSetup.Condition.version(Int($0)) } ?? .empty
            self.refusal = condition.fault ?? ""
            self.trouble(condition.fault ?? "")
        case .failure(let error) where error.kind == .refused:
            if error.lasts { self.refusal = error.description }
            self.trouble(error.description)
        // The end of the session follows.
        case .failure: return
        }
        line.session.close()
        self.line = nil
        self.take(.ended(id))
    }

    private func send(_ statement: ShardStatement, _ id: ShardSession) {
        guard let line, line.id == id else { return }
        if case .append(let commit, _) = statement, !line.hasCommits {
            self.line?.hasCommits = true
            let before = PostgresValue.text("\(Int64(bitPattern: commit.segment.number) - 1)")
            line.session.send(PostgresStatement(ShardSQL.number, [before]), within: Self.statementLimit) { _ in }
        }
        let sql = statement.sql(shard: self.place.shard, node: self.place.node, unused: self.unusedEpoch)
        line.session.send(sql, within: Self.statementLimit) { answer in
            let read: ShardAnswer
            var before: Int64?
            var lasts = false
            switch answer {
            case .success(let rows):
                read = statement.answer(rows)
                if case .take = statement { before = rows.integer(0, 4) }
            case .failure(let error) where error.kind == .refused:
                read = .failed(error.description)
                lasts = error.lasts
            // The end of the session follows.
            case .failure: return
            }
            self.execute { [before, lasts] in
                if let before { self.unusedEpoch = before }
                if lasts, case .failed(let reason) = read { self.refusal = reason }
                self.answered(id, read)
            }
        }
    }

    /// Makes the commits of the present session faster. If PostgreSQL refuses the statement, the commits are only
    /// slower.
    private func keepMemory() {
        self.line?.session.send(PostgresStatement(ShardSQL.keepMemory), within: Self.statementLimit) { _ in }
    }

    private func answered(_ id: ShardSession, _ answer: ShardAnswer) {
        if case .retaken(.owner) = answer, self.line?.id == id {
            self.keepMemory()
            self.onNews(.returned)
        }
        self.take(.answered(id, answer))
    }

    // MARK: Time

    private func lookAtRight() {
        var isOpen = false
        if case .open = self.stage { isOpen = true }
        let isHeld = isOpen && self.right.isHeld
        guard isHeld != self.isHeld else { return }
        self.isHeld = isHeld
        // A shard that is given up has no right, and that is no news.
        if case .over = self.stage { return }
        self.onNews(.right(isHeld: isHeld))
    }

    private func schedule() {
        if case .over = self.stage {
            self.timer?.task.cancel()
            return self.timer = nil
        }
        let end = self.isHeld && !self.isServing ? self.rightEnd : nil
        guard let deadline = [self.keeper.deadline, end].compactMap({ $0 }).min() else { return }
        if let timer, timer.deadline <= deadline { return }
        self.timer?.task.cancel()
        let task = self.loop.withLock { loop in
            loop?.scheduleTask(in: max(deadline - .sinceBoot, .zero)) {
                self.timer = nil
                self.take(.timePassed)
            }
        }
        self.timer = task.map { (deadline, $0) }
    }
}
