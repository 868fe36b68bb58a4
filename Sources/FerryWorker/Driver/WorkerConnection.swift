internal import FerryCore
internal import FerryPostgres
internal import NIOCore

/// A connection of a worker: a ``BatchMachine`` and its session.
///
/// `@unchecked Sendable`: everything is used on the worker's event loop only.
final class WorkerConnection: @unchecked Sendable {
    /// A statement without an answer in this time ends the session.
    private static let limit: Duration = .seconds(10)

    private let number: UInt64
    private let worker: QueueWorker
    private var machine: BatchMachine
    private var session: PostgresSession?
    /// The number of the session. Answers of an earlier session are ignored.
    private var generation = 0
    private var reader: RowReader
    private var timer: (deadline: NIODeadline, task: Scheduled<Void>)?
    private var takenAt: NIODeadline = .distantPast
    private(set) var isFinished = false

    init(_ number: Int, of worker: QueueWorker) {
        self.number = UInt64(number)
        self.worker = worker
        self.machine = BatchMachine(size: worker.configuration.batch, now: .sinceBoot)
        self.reader = RowReader(worker.configuration.clients)
    }

    /// Whether a row was sent and its fate is not written.
    func hasUnwritten(_ id: Int64) -> Bool { self.machine.hasUnwritten(id) }

    var unanswered: Int { self.machine.unanswered }

    /// The lower 48 bits of a tag are the machine's tag. The upper 16 bits are the connection's number.
    private static let tagBits: UInt64 = 48

    static func number(of tag: PushTag) -> Int { Int(tag.rawValue >> Self.tagBits) }

    func stop(within limit: TimeAmount) {
        self.machine.stop(within: limit, now: .sinceBoot)
        self.run()
    }

    /// Takes an outcome. Call ``run()`` after the last outcome.
    func answered(_ record: OutcomeRecord) {
        self.answered(record.tag.rawValue, record.outcome)
    }

    private func answered(_ tag: UInt64, _ outcome: Outcome) {
        guard let row = self.machine.answered(tag & (1 << Self.tagBits - 1), outcome) else { return }
        if let client = row.client { self.worker.note(ClientSign(outcome), of: client) }
    }

    /// Carries out what is to be done now.
    func run() {
        while let action = self.machine.step(now: .sinceBoot, isHeld: self.worker.isHeld) { self.carryOut(action) }
        guard !self.isFinished, let deadline = self.machine.deadline else { return }
        if let timer, timer.deadline <= deadline, timer.deadline > .sinceBoot { return }
        self.timer?.task.cancel()
        // The deadline is not one of the event loop, whose clock stands still while the computer sleeps.
        let wait = max(deadline - .sinceBoot, .zero)
        let task = self.worker.eventLoop.assumeIsolated().scheduleTask(in: wait) {
            self.timer = nil
            self.run()
        }
        self.timer = (deadline, task)
    }

    private func carryOut(_ action: BatchMachine.Action) {
        switch action {
        case .connect: self.connect()
        case .take: self.take()
        case .send: self.send()
        case .write(let write, let endsBatch): self.write(write, endsBatch: endsBatch)
        case .rollBack: self.finishTransaction([PostgresStatement("rollback")], BatchMachine.Write())
        case .finish:
            self.isFinished = true
            self.session?.close()
            self.session = nil
            self.timer?.task.cancel()
            self.worker.connectionFinished()
        }
    }

    // MARK: The session

    private func connect() {
        self.generation += 1
        let generation = self.generation
        self.session = PostgresSession(self.worker.settings) { error in
            self.onLoop(of: generation) { self.lost(error) }
        }
        // The time of the connection must not count as that of the first select.
        self.session?.send(PostgresStatement("select 1"), within: Self.limit) { answer in
            self.onLoop(of: generation) {
                switch answer {
                case .success: self.machine.connected(now: .sinceBoot)
                case .failure(let error): self.lost(error)
                }
            }
        }
    }

    private static let slowSelect = PostgresError(
        .ended,
        "PostgreSQL takes longer than 2 s to find rows, which are not sent then. Look at "
            + "ferry_worker_oldest_transaction_seconds: a transaction that stays open keeps delivered rows in the table."
    )

    private func lost(_ error: PostgresError?) {
        guard let session else { return }
        self.session = nil
        self.generation += 1
        session.close()
        self.worker.sessionLost(error?.description ?? "The session was closed.")
        self.machine.ended(now: .sinceBoot)
    }

    /// Runs `body` and ``run()`` on the event loop, if the session with this number is still the present one.
    private func onLoop(of generation: Int, _ body: @escaping @Sendable () -> Void) {
        self.worker.eventLoop.execute {
            guard generation == self.generation, !self.isFinished else { return }
            body()
            self.run()
        }
    }

    // MARK: Rows

    private func take() {
        guard let session else { return }
        let generation = self.generation
        let trial = self.worker.nextTrial()
        session.send(PostgresStatement("begin"), within: Self.limit) { _ in }
        session.send(trial?.take ?? self.worker.nextTake(), within: Self.limit) { answer in
            self.onLoop(of: generation) {
                switch answer {
                case .success(let rows): self.taken(rows, trialOf: trial?.client)
                case .failure(let error): self.lost(error)
                }
            }
        }
    }

    /// - Parameter trialOf: the held client whose rows these are; nil if they are not those of a trial.
    private func taken(_ rows: PostgresRows, trialOf client: Int?) {
        // The next select would take as long. So the session ends with an error for the operator, and the next
        // session waits.
        guard !self.machine.isSlow(now: .sinceBoot) else { return self.lost(Self.slowSelect) }
        self.takenAt = .sinceBoot
        let firstTag = self.number << Self.tagBits | self.machine.nextTag
        let read = self.reader.read(
            rows,
            firstTag: firstTag,
            sending: client == nil ? .max : 1,
            isUnwritten: self.worker.hasUnwritten,
            into: self.worker.batches
        )
        self.machine.taken(read, isTrial: client != nil, now: .sinceBoot)
        guard !self.machine.sends else { return }
        // If the machine stops, it rolls the transaction back. Then the rows must not be sent.
        self.worker.clearBatches()
        if let client, !read.isEmpty { self.worker.giveBackTrial(of: client) }
    }

    /// Gives the rows that ``taken(_:trialOf:)`` has read to their upstreams. A row that an upstream does not take is
    /// tried again later.
    private func send() {
        for refused in self.worker.submit() { self.answered(refused, .undelivered(.deadline)) }
    }

    private func write(_ write: BatchMachine.Write, endsBatch: Bool) {
        let statements = WorkerSQL.statements(write, keepsAccepted: self.worker.configuration.keepsAccepted)
        if endsBatch {
            self.worker.noteBatch(.sinceBoot - self.takenAt)
            for client in self.machine.unansweredClients { self.worker.note(.unanswered, of: client) }
        }
        let begin = endsBatch ? [] : [PostgresStatement("begin")]
        self.finishTransaction(begin + statements + [PostgresStatement("commit")], write)
    }

    private func finishTransaction(_ statements: [PostgresStatement], _ write: BatchMachine.Write) {
        guard let session else { return }
        let generation = self.generation
        // After a refused statement, the commit rolls back, but its answer is no error. So the first error is kept.
        let answers = TransactionAnswers()
        for (index, statement) in statements.enumerated() {
            let isLast = index == statements.count - 1
            session.send(statement, within: Self.limit) { answer in
                switch answer {
                case .success(let rows): answers.note(locked: rows)
                case .failure(let error): answers.note(error)
                }
                guard isLast else { return }
                self.onLoop(of: generation) {
                    if let error = answers.error {
                        self.lost(error)
                    } else {
                        var written = write
                        written.endings.removeAll { answers.locked.contains($0.id) }
                        written.delays.removeAll { answers.locked.contains($0.id) }
                        self.worker.committed(written)
                        self.machine.committed(locked: answers.locked, now: .sinceBoot)
                    }
                }
            }
        }
    }
}

/// The answers to the statements of a transaction.
private final class TransactionAnswers: Sendable {
    private struct State {
        var error: PostgresError?
        var locked: Set<Int64> = []
    }

    private let state = Locked(State())

    /// The first error.
    var error: PostgresError? { self.state.withLock { $0.error } }

    /// The rows that ``WorkerSQL/end`` and ``WorkerSQL/delay`` have returned.
    var locked: Set<Int64> { self.state.withLock { $0.locked } }

    func note(_ error: PostgresError) { self.state.withLock { $0.error = $0.error ?? error } }

    func note(locked rows: PostgresRows) {
        for row in 0..<rows.count {
            guard let id = rows.integer(row, 0) else { continue }
            self.state.withLock { _ = $0.locked.insert(id) }
        }
    }
}
