package import FerryCore
package import NIOCore

/// The life of one batch after another on one connection to PostgreSQL. A machine without I/O.
///
/// A batch is an open transaction, whose row locks keep other workers away from its rows.
///
/// ```
///       connect         connected       take             rows             all have a fate, or 2 s
///   away ─────▶ connecting ─────▶ free ─────▶ taking ───────────▶ sending ────────────────────▶ writing
///    ▲                             ▲ └─ fates of late rows ───────────────────────────────────▶ │
///    │                             └──────────────────────── committed ─────────────────────────┘
///    └── the session ended: from every state
/// ```
///
/// A row that has no answer when its batch is written is hidden for a minute, and becomes *late*: this machine waits
/// for its answer, and no other worker takes the row in that minute. When a session ends, its locks are gone. The
/// answers to sent rows are then written like those of late rows. The statement does not change a row that another
/// worker has removed, so that each row has one outcome. A row that another session has locked is tried again.
/// Another connection of the process can take a sent row before its answer is written. That connection hides the row
/// and does not send it: see ``hasUnwritten(_:)``.
///
/// After an input, carry out what ``step(now:isHeld:)`` returns until it returns nil, and call it again at ``deadline``.
/// Times are those of a clock that goes on while the computer sleeps.
package struct BatchMachine {
    /// A row that was taken.
    package struct Row: Hashable, Sendable {
        package var id: Int64
        package var attempts: Int
        /// The number of its client in the configuration; nil if the configuration does not have it.
        package var client: Int?
        package var repeatsUnknown: Bool
        /// The fate of a row that is not sent; nil for a row that is.
        package var fate: RowFate?

        package init(
            id: Int64,
            attempts: Int = 0,
            client: Int?,
            repeatsUnknown: Bool = true,
            fate: RowFate? = nil
        ) {
            self.id = id
            self.attempts = attempts
            self.client = client
            self.repeatsUnknown = repeatsUnknown
            self.fate = fate
        }
    }

    /// The changes of rows that one transaction writes.
    package struct Write: Hashable, Sendable {
        package var endings: [Ended] = []
        package var delays: [Delay] = []

        package struct Ended: Hashable, Sendable {
            package var id: Int64
            package var ending: RowFate.Ending

            package init(id: Int64, ending: RowFate.Ending) {
                self.id = id
                self.ending = ending
            }
        }

        package struct Delay: Hashable, Sendable {
            package var id: Int64
            package var by: TimeAmount
            /// The number that is added to `attempts`.
            package var attempts: Int16

            package init(id: Int64, by time: TimeAmount, attempts: Int16) {
                self.id = id
                self.by = time
                self.attempts = attempts
            }
        }

        package init() {}

        mutating func add(_ id: Int64, _ fate: RowFate) {
            switch fate {
            case .done(let ending): self.endings.append(Ended(id: id, ending: ending))
            case .again(let wait): self.delays.append(Delay(id: id, by: wait, attempts: 1))
            case .hidden: self.delays.append(Delay(id: id, by: BatchMachine.hiding, attempts: 0))
            case .left: break
            }
        }

        mutating func add(_ other: Write) {
            self.endings += other.endings
            self.delays += other.delays
        }

        package var isEmpty: Bool { self.endings.isEmpty && self.delays.isEmpty }
    }

    package enum Action: Hashable, Sendable {
        /// Make a session. Then call ``connected(now:)``.
        case connect
        /// Begin a transaction and select rows. Then call ``taken(_:isTrial:now:)``.
        case take
        /// Send the rows without a fate.
        case send
        /// Write, in the open transaction if `endsBatch`, and else in a new one. Then call ``committed(locked:now:)``.
        case write(Write, endsBatch: Bool)
        /// End the transaction without an effect. Then call ``committed(locked:now:)``.
        case rollBack
        /// Close the session. Nothing follows.
        case finish
    }

    /// The select must be answered in this time, or its rows are not sent. The sum of this time and ``sendLimit`` is
    /// less than the server's `idle_in_transaction_session_timeout`, after which other workers can take the rows.
    package static let takeLimit: TimeAmount = .seconds(2)
    /// The time in which a row that was given to a provider may be sent.
    package static let sendLimit: Duration = .seconds(4)
    /// The time after which a batch is written, even if rows have no answer.
    package static let writeLimit: TimeAmount = .seconds(2)
    /// The time after which the batch of a trial is written, even if its row has no answer. It is short, because APNs
    /// may not answer, and other clients need the connection.
    package static let trialLimit: TimeAmount = .milliseconds(200)
    /// How long a row without an answer is hidden.
    package static let hiding: TimeAmount = .seconds(60)
    /// The first and the longest pause of a connection that finds no rows. The pause doubles each time.
    package static let pauses: (first: TimeAmount, last: TimeAmount) = (.milliseconds(50), .seconds(1))
    /// How long the answer to a statement may take after a stop's limit.
    package static let lastWriteLimit: TimeAmount = .seconds(1)
    /// The first and the longest wait before another session.
    package static let connectWaits: (first: TimeAmount, last: TimeAmount) = (.milliseconds(100), .seconds(5))

    private struct Batch {
        var firstTag: UInt64
        var rows: [Row]
        var unanswered: Int
        var isTrial: Bool
        /// The clients with a row that was accepted or rejected.
        var answered: Set<Int> = []
    }

    private enum State {
        case away(until: NIODeadline)
        case connecting
        case free(look: NIODeadline)
        case taking(since: NIODeadline)
        /// The rows are there, and have not been sent yet.
        case taken(Batch, now: NIODeadline)
        case sending(Batch, until: NIODeadline)
        /// - Parameter next: the pause before the next select.
        case writing(Write, next: TimeAmount)
        case finished
    }

    /// The largest number of rows of a batch.
    private let size: Int
    private var state: State
    /// The tag of the first row of the next batch. Rows that are not sent have tags, too.
    package private(set) var nextTag: UInt64 = 0
    /// The rows that were sent, have no answer, and are in no open batch.
    private var late: [UInt64: Row] = [:]
    /// The changes for rows that are in no open batch.
    private var changes = Write()
    /// The rows that were sent and whose fate is not written.
    private var unwritten: Set<Int64> = []
    /// The clients whose rows in the last batch got no answer of APNs within ``writeLimit``. Empty after a trial, and
    /// after a batch that ended earlier.
    package private(set) var unansweredClients: Set<Int> = []
    private var pause = Self.pauses.first
    private var connectWait = Self.connectWaits.first
    private var stops: NIODeadline?

    package init(size: Int, now: NIODeadline) {
        self.size = max(size, 1)
        self.state = .away(until: now)
    }

    /// The number of rows that were sent and have no answer.
    package var unanswered: Int {
        if case .sending(let batch, _) = self.state { batch.unanswered + self.late.count } else { self.late.count }
    }

    /// Whether a row was sent and its fate is not written. Such a row must not be sent again, even if no session
    /// locks it: the push could arrive twice.
    package func hasUnwritten(_ id: Int64) -> Bool { self.unwritten.contains(id) }

    /// Whether a row of the last select will be sent. If not, the transaction writes the fates of the rows, or is
    /// rolled back if there are no rows to write.
    package var sends: Bool { if case .taken(let batch, _) = self.state { batch.unanswered > 0 } else { false } }

    /// When ``step(now:isHeld:)`` has to be called; nil if only an input leads on, and after the end.
    package var deadline: NIODeadline? {
        let own: NIODeadline?
        switch self.state {
        case .away(let until), .sending(_, let until): own = until
        case .connecting: own = nil
        case .free(let look): own = self.stops == nil ? look : nil
        case .taken(_, let now): own = now
        case .taking, .writing: return self.stops.map { $0 + Self.lastWriteLimit }
        case .finished: return nil
        }
        return [own, self.stops].compactMap { $0 }.min()
    }

    // MARK: Inputs

    /// Notes that the session is ready.
    package mutating func connected(now: NIODeadline) {
        if case .connecting = self.state { self.state = .free(look: now) }
    }

    /// Takes the rows of a select. Rows without a fate are sent next, except after a stop or a slow select.
    ///
    /// - Parameter isTrial: whether the rows are those of a held client. At most one of these rows is without a fate.
    package mutating func taken(_ rows: [Row], isTrial: Bool, now: NIODeadline) {
        guard case .taking = self.state else { return }
        let isSlow = self.isSlow(now: now)
        self.connectWait = Self.connectWaits.first
        let unanswered = rows.count { $0.fate == nil }
        guard !rows.isEmpty, self.stops == nil, !isSlow else {
            self.state = .taken(Batch(firstTag: 0, rows: [], unanswered: 0, isTrial: isTrial), now: now)
            return
        }
        let batch = Batch(firstTag: self.nextTag, rows: rows, unanswered: unanswered, isTrial: isTrial)
        self.nextTag += UInt64(rows.count)
        for row in rows where row.fate == nil { self.unwritten.insert(row.id) }
        self.state = .taken(batch, now: now)
    }

    /// Whether the select under way has taken longer than ``takeLimit``.
    package func isSlow(now: NIODeadline) -> Bool {
        if case .taking(let since) = self.state { now - since > Self.takeLimit } else { false }
    }

    /// Takes the outcome of a row.
    ///
    /// - Returns: the row as it was sent; nil if no row with this tag waits for an outcome.
    package mutating func answered(_ tag: UInt64, _ outcome: Outcome) -> Row? {
        if case .sending(var batch, let until) = self.state, tag >= batch.firstTag,
            tag - batch.firstTag < UInt64(batch.rows.count)
        {
            let index = Int(tag - batch.firstTag)
            let row = batch.rows[index]
            guard row.fate == nil else { return nil }
            let fate = RowFate(outcome, attempts: row.attempts, repeatsUnknown: row.repeatsUnknown)
            // The state must not hold the array, too, or the change would copy it.
            self.state = .finished
            batch.rows[index].fate = fate
            batch.unanswered -= 1
            switch outcome {
            case .accepted, .rejected: if let client = row.client { batch.answered.insert(client) }
            default: break
            }
            self.state = .sending(batch, until: until)
            return row
        }
        guard let row = self.late.removeValue(forKey: tag) else { return nil }
        let fate = RowFate(outcome, attempts: row.attempts, repeatsUnknown: row.repeatsUnknown)
        self.changes.add(row.id, fate)
        // A late row is usually hidden. Without this change, it would be due only after the rest of the minute.
        if fate == .left { self.changes.delays.append(.init(id: row.id, by: .zero, attempts: 0)) }
        return row
    }

    /// Notes that the transaction has ended, by a commit or a rollback.
    ///
    /// - Parameter locked: the rows whose fate was not written, because another session had locked them.
    package mutating func committed(locked: Set<Int64> = [], now: NIODeadline) {
        guard case .writing(let write, let next) = self.state else { return }
        if !locked.isEmpty {
            self.changes.endings += write.endings.filter { locked.contains($0.id) }
            self.changes.delays += write.delays.filter { locked.contains($0.id) }
        }
        self.state = .free(look: now + (locked.isEmpty ? next : max(next, Self.pauses.first)))
        self.letGo()
    }

    /// Notes that the session has ended, and with it the transaction.
    package mutating func ended(now: NIODeadline) {
        switch self.state {
        case .away, .finished: return
        case .sending(let batch, _): self.leave(batch, hides: false)
        // The changes may have been made. Making them twice does no harm.
        case .writing(let write, _): self.changes.add(write)
        case .connecting, .free, .taking, .taken: break
        }
        self.letGo()
        self.state = .away(until: now + self.connectWait)
        self.connectWait = min(self.connectWait * 2, Self.connectWaits.last)
    }

    /// Forgets the rows whose fate is written, and those that were left.
    private mutating func letGo() {
        self.unwritten.removeAll(keepingCapacity: true)
        for row in self.late.values { self.unwritten.insert(row.id) }
        for ended in self.changes.endings { self.unwritten.insert(ended.id) }
        for delay in self.changes.delays { self.unwritten.insert(delay.id) }
    }

    /// Takes no more rows. Ends when the outcomes of all sent rows are written, or after `limit`. A statement that is
    /// under way then gets ``lastWriteLimit`` more.
    package mutating func stop(within limit: TimeAmount, now: NIODeadline) {
        if self.stops == nil { self.stops = now + limit }
    }

    // MARK: Steps

    /// Returns the next thing to do now; nil if there is nothing to do until an input or ``deadline``.
    ///
    /// - Parameter isHeld: whether the rows of a client are left alone.
    package mutating func step(now: NIODeadline, isHeld: (Int) -> Bool) -> Action? {
        switch self.state {
        case .away(let until):
            if self.isOver(now) { return self.finish() }
            guard now >= until else { return nil }
            self.state = .connecting
            return .connect
        case .connecting: return self.isOver(now) ? self.finish() : nil
        case .free(let look): return self.stepFree(look, now: now, isHeld)
        case .taken(let batch, _): return self.begin(batch, now: now)
        case .sending(let batch, let until):
            guard batch.unanswered == 0 || now >= until || self.isPastStop(now) else { return nil }
            if now >= until, !batch.isTrial { self.noteUnanswered(batch) }
            return self.end(batch)
        case .taking, .writing: return self.isPastStop(now - Self.lastWriteLimit) ? self.finish() : nil
        case .finished: return nil
        }
    }

    private func isPastStop(_ now: NIODeadline) -> Bool { self.stops.map { now >= $0 } ?? false }

    /// Whether a stop ends: its limit has passed, or all outcomes are written.
    private func isOver(_ now: NIODeadline) -> Bool {
        self.isPastStop(now) || self.stops != nil && self.late.isEmpty && self.changes.isEmpty
    }

    private mutating func finish() -> Action {
        self.state = .finished
        return .finish
    }

    private mutating func stepFree(_ look: NIODeadline, now: NIODeadline, _ isHeld: (Int) -> Bool) -> Action? {
        if self.stops != nil, self.changes.isEmpty || self.isPastStop(now) {
            return self.isOver(now) ? self.finish() : nil
        }
        guard now >= look || self.stops != nil else { return nil }
        if !self.changes.isEmpty {
            defer { self.changes = Write() }
            self.state = .writing(self.changes, next: .zero)
            return .write(self.changes, endsBatch: false)
        }
        // With a whole batch late, APNs is slow, and more rows would only wait. Late rows of held clients do not count,
        // because no more rows of these clients are taken.
        let isSlow =
            self.late.count >= self.size && self.late.values.count { !($0.client.map(isHeld) ?? false) } >= self.size
        guard !isSlow else {
            self.state = .free(look: now + Self.pauses.first)
            return nil
        }
        self.state = .taking(since: now)
        return .take
    }

    private mutating func begin(_ batch: Batch, now: NIODeadline) -> Action? {
        self.unansweredClients = []
        guard !batch.rows.isEmpty else {
            self.state = .writing(Write(), next: batch.isTrial ? .zero : self.pause)
            if !batch.isTrial { self.pause = min(self.pause * 2, Self.pauses.last) }
            return .rollBack
        }
        self.pause = Self.pauses.first
        self.state = .sending(batch, until: now + (batch.isTrial ? Self.trialLimit : Self.writeLimit))
        return batch.unanswered > 0 ? .send : self.end(batch)
    }

    private mutating func noteUnanswered(_ batch: Batch) {
        let clients = Set(batch.rows.compactMap { $0.fate == nil ? $0.client : nil })
        self.unansweredClients = clients.subtracting(batch.answered)
    }

    private mutating func end(_ batch: Batch) -> Action {
        self.leave(batch, hides: true)
        let write = self.changes
        self.changes = Write()
        // A batch that is not full has emptied the queue.
        let isFull = batch.isTrial || batch.rows.count >= self.size
        self.state = .writing(write, next: isFull ? .zero : Self.pauses.first)
        return .write(write, endsBatch: true)
    }

    /// Takes the rows out of a batch: rows with a fate are to be written, and rows without a fate are late.
    private mutating func leave(_ batch: Batch, hides: Bool) {
        for (index, row) in batch.rows.enumerated() {
            if let fate = row.fate {
                self.changes.add(row.id, fate)
            } else {
                self.late[batch.firstTag + UInt64(index)] = row
                if hides { self.changes.add(row.id, .hidden) }
            }
        }
    }
}
