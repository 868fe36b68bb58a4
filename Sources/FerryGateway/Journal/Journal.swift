internal import DequeModule
internal import FerryCore
internal import FerryMachine
internal import NIOCore

/// The journal of a gateway, without I/O. Records go in, and commits for the store come out.
///
/// ```
///   records ──▶ open segment ──▶ waiting ──▶ under way ──▶ durable
///                                   ▲            │
///                                   └─ refused ──┘
/// ```
///
/// Some actions wait until a record is durable:
/// * A notification goes to the upstream after its record.
/// * A notification to a device that lost the app counts as accepted after its row in the feedback list.
/// * An error response is written after the record of its episode.
///
/// The owner of a record remembers ``number``, and acts when ``durable`` has reached the remembered number.
package struct Journal {
    private struct Pending {
        var commit: StoreCommit
        /// When the segment's first record came.
        var openedAt: NIODeadline
        var isSent = false
        var isStored = false
    }

    private enum State {
        case good
        /// The store does not answer.
        case silent
        /// The store refuses commits. The next try is at this time.
        case refused(retryAt: NIODeadline)
        /// Another process has taken the store.
        case fenced
    }

    /// The state of the last try of refused commits, at the end of the process.
    private enum LastTry {
        /// The process goes on. A refused commit is tried again and again.
        case none
        /// The next refused commit is tried again at once.
        case due
        /// A refused commit was tried again. If the store refuses it once more, the store counts as accepting nothing.
        case made
    }

    let epoch: UInt64
    /// The names of the identities, by number.
    private var identities: [String]
    private let boot: BootIdentifier?
    private let checksum: Segment.Checksum
    private var state = State.good
    private var lastTry = LastTry.none

    /// The number of the open segment.
    private(set) var number: UInt64
    private var buffer = Segment.begin(capacity: Segment.limit + 16_384)
    private var entry: SegmentTable.Entry?
    /// The connections that the open segment has identified with a `client` record.
    private var named: Set<ConnectionID> = []
    private var changes: [StoreChange] = []
    private var drops: [UInt64] = []
    private var late: [UInt64] = []
    /// Whether an action waits for the open segment.
    private var isAwaited = false
    /// When the first record of the open segment came; nil if the segment is empty.
    private var openedAt: NIODeadline?

    private var pending: Deque<Pending> = []
    /// When the present wait for the store began: at the store's last answer, or later, when a segment was closed
    /// while no commit waited.
    private var heardAt = NIODeadline.distantPast
    /// The number up to which all segments are durable.
    private(set) var durable: UInt64
    var segments = SegmentTable()
    private var sweepAt: NIODeadline?
    private var events: [GatewayEvent] = []

    /// The epochs whose numbers have at most 62 bits. Longer numbers do not fit into an `apns-id`. SQLite takes
    /// numbers of 64 bits for negative, and sorts them before 0.
    static let epochs: Range<UInt64> = 1..<1 << 22

    /// The first number that an epoch uses for segments, connections and jobs. No number is used in two epochs.
    static func firstNumber(of epoch: UInt64) -> UInt64 { epoch << 40 }

    /// The epoch that has this number.
    static func epoch(of number: UInt64) -> UInt64 { number >> 40 }

    /// - Parameters:
    ///   - identities: the names of the identities, by number. The names are written to the store.
    ///   - boot: the present run of the operating system; nil if it is not known.
    ///   - checksum: a hash with the key of the store.
    package init(
        epoch: UInt64,
        identities: [String],
        boot: BootIdentifier?,
        checksum: @escaping ([UInt8]) -> UInt64
    ) {
        self.epoch = epoch
        self.boot = boot
        self.identities = identities
        self.checksum = checksum
        self.number = Self.firstNumber(of: epoch)
        self.durable = self.number - 1
    }

    /// Takes the names of the identities after a reload. Each name keeps its number.
    mutating func rename(_ identities: [String]) { self.identities = identities }

    // MARK: Records

    /// Notes a notification. It may go to the upstream once ``number`` is durable.
    mutating func read(_ job: inout Job, as id: JobID, now: Moment) {
        self.name(job.first.connection, job.scope, now: now)
        self.buffer.write(read: job, as: id)
        job.segment = self.number
        job.wait = .store
        self.isAwaited = true
        let first = self.entry?.jobs?.lowerBound ?? id.rawValue
        self.entry?.jobs = first...id.rawValue
        self.entry?.count += 1
        self.entry?.live += 1
    }

    mutating func copy(_ reader: Job.Reader, of follower: Follower, _ scope: ReplayScope, now: Moment) {
        self.name(reader.connection, scope, now: now)
        self.buffer.write(copy: reader, of: follower, readAt: now.epochSeconds)
    }

    /// Notes the final answer to a job whose notification is in `segment`.
    mutating func answered(_ id: JobID, _ fate: JobFate, in segment: UInt64, now: Moment) {
        self.begin(now: now)
        self.buffer.write(answered: id, fate)
        if segment == self.number {
            self.entry?.live -= 1
        } else {
            self.segments.answered(segment, now: now.monotonic)
        }
    }

    /// Notes that the notification of a job may have arrived, and is sent once more.
    mutating func doubted(_ id: JobID, now: Moment) {
        self.begin(now: now)
        self.buffer.write(doubted: id)
    }

    /// Notes that an error response is about to be written. It may be written once ``number`` is durable.
    mutating func told(_ episode: EpisodeID, _ job: JobID?, _ scope: ReplayScope, now: Moment) {
        self.name(episode.connection, scope, now: now)
        self.buffer.write(told: episode, job)
        self.isAwaited = true
        self.segments.open(episode, since: now.monotonic - GatewayBounds.Journal.episodeAge)
    }

    mutating func over(_ episode: EpisodeID, now: Moment) {
        // The episode of a crash has this sequence number and no record, so its end needs no record, either.
        guard episode.sequence != .max else { return }
        self.begin(now: now)
        self.buffer.write(over: episode)
        self.segments.over(episode)
    }

    /// Notes that the error response of ``told(_:_:_:now:)`` was not written.
    mutating func untold(_ episode: EpisodeID, now: Moment) {
        self.begin(now: now)
        self.buffer.write(untold: episode)
        self.segments.over(episode)
    }

    mutating func closed(_ id: ConnectionID, now: Moment) {
        self.begin(now: now)
        self.buffer.write(closed: id)
        self.segments.closed(id, at: self.number)
    }

    /// Notes a change of a feedback row. The change is durable once ``number`` is.
    mutating func change(_ change: FeedbackRows.Change, now: Moment) {
        self.begin(now: now)
        self.changes.append(change.row(identities: self.identities))
        self.isAwaited = true
    }

    /// Notes changes of rows. No action waits for their commit.
    mutating func change(_ changes: [StoreChange], now: Moment) {
        guard !changes.isEmpty else { return }
        self.begin(now: now)
        self.changes += changes
    }

    /// Notes a client's class and habits.
    mutating func learned(_ habit: ClientHabit, now: Moment) {
        self.begin(now: now)
        self.changes.append(habit.row(identities: self.identities))
    }

    /// Removes the row of habits of a forgotten client.
    mutating func forget(_ scope: ReplayScope, now: Moment) {
        self.begin(now: now)
        self.changes.append(
            StoreChange(.habits, key: ClientHabit.key(scope, identities: self.identities), value: nil)
        )
    }

    /// Removes a row of an earlier process.
    mutating func forget(_ row: StoreRow, in table: StoreTable, now: Moment) {
        self.begin(now: now)
        self.changes.append(StoreChange(table, key: row.key, value: nil))
    }

    /// Rewrites an unanswered job of an older segment, so that the older segment can be dropped.
    mutating func carry(_ job: inout Job, as id: JobID, now: Moment) {
        self.name(job.first.connection, job.scope, now: now)
        self.buffer.write(read: job, as: id)
        if job.doubts > 0 { self.buffer.write(doubted: id) }
        self.segments.moved(job.segment)
        job.segment = self.number
        job.isCarried = true
        self.entry?.carried.append(id)
        self.entry?.count += 1
        self.entry?.live += 1
    }

    /// Notes a letter that is sent again, and removes its row. The job may go to the upstream once ``number`` is
    /// durable.
    mutating func retry(_ job: inout Job, as id: JobID, from row: StoreChange, now: Moment) {
        self.readAgain(&job, as: id, now: now)
        self.changes.append(row)
    }

    /// Notes a job that a former owner of the store handed over. It may go to the upstream once ``number`` is durable.
    mutating func takeOver(_ job: inout Job, as id: JobID, now: Moment) {
        self.readAgain(&job, as: id, now: now)
        if job.doubts > 0 { self.buffer.write(doubted: id) }
    }

    /// Notes that the journal has all jobs of a late segment.
    mutating func tookOver(_ segment: UInt64, now: Moment) {
        self.begin(now: now)
        self.late.append(segment)
    }

    private mutating func readAgain(_ job: inout Job, as id: JobID, now: Moment) {
        self.name(job.first.connection, job.scope, now: now)
        self.buffer.write(read: job, as: id)
        job.segment = self.number
        job.wait = .store
        self.isAwaited = true
        // The job's number is outside the range ``SegmentTable/Entry/jobs``, because the job was read before this
        // segment.
        self.entry?.carried.append(id)
        self.entry?.count += 1
        self.entry?.live += 1
    }

    private mutating func name(_ id: ConnectionID, _ scope: ReplayScope, now: Moment) {
        self.begin(now: now)
        guard self.named.insert(id).inserted else { return }
        self.buffer.write(client: id, identity: self.identities[scope.identity], address: scope.addressBytes)
    }

    /// Begins a segment, if none is open.
    mutating func begin(now: Moment) {
        guard self.openedAt == nil else { return }
        self.openedAt = now.monotonic
        self.entry = SegmentTable.Entry(number: self.number, openedAt: now.monotonic, answeredAt: now.monotonic)
        if self.sweepAt == nil { self.sweepAt = now.monotonic + GatewayBounds.Journal.sweep }
    }

    /// Returns the state that these segments describe. Segments that cannot be read are left out.
    ///
    /// - Parameter refused: gets the number of each segment that cannot be read, and the reason.
    func recovery(
        of segments: [StoredSegment],
        now: Moment,
        makeKey: @escaping Recovery.MakeKey,
        refused: (UInt64, StoreError) -> Void
    ) -> Recovery {
        var recovery = Recovery(now: now, boot: self.boot, makeKey: makeKey)
        for segment in segments {
            do throws(StoreError) {
                try recovery.read([segment], self.checksum)
            } catch {
                refused(segment.number, error)
            }
        }
        return recovery
    }

    // MARK: Commits

    /// The state of the spool, as far as the store decides it. The spool is open while the store refuses nothing, and
    /// the oldest record has waited less than ``GatewayBounds/Journal/patience``. The spool is full when this record
    /// has waited for ``GatewayBounds/Journal/outage``, or another process has the store. Otherwise the spool waits.
    func spool(now: NIODeadline) -> GatewayConnection.Spool {
        let waiting = (self.pending.first?.openedAt ?? self.openedAt).map { now - $0 } ?? .zero
        switch self.state {
        case .fenced: return .full
        case .good where waiting < GatewayBounds.Journal.patience: return .open
        case .good, .silent, .refused: return waiting < GatewayBounds.Journal.outage ? .waiting : .full
        }
    }

    /// The state of the store, for operators.
    var condition: GatewayFigures.Store {
        switch self.state {
        case .good: .good
        case .silent, .refused: .troubled
        case .fenced: .taken
        }
    }

    var isFenced: Bool { if case .fenced = self.state { true } else { false } }

    /// Whether the end of the process may stop waiting for the store. The result is true if no record waits, or if the
    /// store does not answer, has refused the last try, or belongs to another process. Call ``tryNow()`` first.
    var isOver: Bool {
        switch self.state {
        case .good: self.isIdle
        case .silent, .fenced: true
        // While the store has the first commit without an answer, the last try is not over.
        case .refused: self.lastTry == .made && self.pending.first?.isSent != true
        }
    }

    /// Lets a refused commit be tried once more, at once, because the process ends before the next try is due. A
    /// notification whose answer is not stored would be sent again by the next process.
    mutating func tryNow() { self.lastTry = .due }

    /// Whether no record waits to be durable.
    var isIdle: Bool { self.openedAt == nil && self.pending.isEmpty }

    /// The length of the open segment in bytes.
    var openLength: Int { self.buffer.readableBytes }

    /// Schedules the first sweep, if an earlier process left segments.
    mutating func restored(now: NIODeadline) {
        if !self.segments.isEmpty { self.sweepAt = now + GatewayBounds.Journal.sweep }
    }

    /// Closes the open segment, even a short one.
    mutating func seal(now: Moment) {
        if let openedAt { self.seal(openedAt, now: now) }
    }

    /// Returns the commits that must go to the store now, in order.
    mutating func takeCommits(now: Moment) -> [StoreCommit] {
        if let openedAt, self.isDue(openedAt, now: now.monotonic) { self.seal(openedAt, now: now) }
        var room = GatewayBounds.Journal.underWay
        switch self.state {
        case .good, .silent: break
        case .refused(let retryAt): room = retryAt <= now.monotonic || self.lastTry == .due ? 1 : 0
        case .fenced: room = 0
        }
        var commits: [StoreCommit] = []
        for index in self.pending.indices.prefix(room) where !self.pending[index].isSent {
            self.pending[index].isSent = true
            if case .refused = self.state, self.lastTry == .due { self.lastTry = .made }
            commits.append(self.pending[index].commit)
        }
        return commits
    }

    private func isDue(_ openedAt: NIODeadline, now: NIODeadline) -> Bool {
        if self.buffer.readableBytes >= Segment.limit { return true }
        guard self.pending.count < GatewayBounds.Journal.underWay else { return false }
        return self.isAwaited && self.pending.isEmpty || openedAt + GatewayBounds.Journal.commitTime <= now
    }

    private mutating func seal(_ openedAt: NIODeadline, now: Moment) {
        let time = SegmentTime(
            boot: self.boot,
            milliseconds: now.monotonic.uptimeNanoseconds / 1_000_000,
            epochSeconds: now.epochSeconds
        )
        let segment = StoredSegment(number: self.number, bytes: Segment.end(self.buffer, time, self.checksum))
        let commit = StoreCommit(
            epoch: self.epoch,
            segment: segment,
            changes: self.changes,
            drops: self.drops,
            late: self.late
        )
        if self.pending.isEmpty { self.heardAt = now.monotonic }
        self.pending.append(Pending(commit: commit, openedAt: openedAt))
        if var entry {
            entry.length = segment.bytes.count
            self.segments.add(entry)
        }
        self.entry = nil
        self.number += 1
        self.openedAt = nil
        self.isAwaited = false
        self.buffer.clear()
        self.buffer.writeImmutableBuffer(Self.header)
        self.named.removeAll(keepingCapacity: true)
        self.changes = []
        self.drops = []
        self.late = []
    }

    private static let header = Segment.begin(capacity: Segment.headerLength)

    /// Takes the store's answer to a commit. Returns whether ``durable`` has moved.
    mutating func answered(_ number: UInt64, _ answer: StoreAnswer, now: NIODeadline) -> Bool {
        guard let index = self.pending.firstIndex(where: { $0.commit.segment.number == number }) else {
            assertionFailure("a commit waits until the store has it")
            return false
        }
        self.heardAt = now
        switch answer {
        case .durable:
            self.pending[index].isStored = true
            return self.advance()
        case .unavailable(let reason):
            guard !self.isFenced else { return false }
            self.pending[index].isSent = false
            if case .refused = self.state {} else { self.events.append(.storeTrouble(reason)) }
            self.state = .refused(retryAt: now + GatewayBounds.Journal.retry)
        case .fenced:
            self.fence()
        }
        return false
    }

    /// Notes that another process has taken the store.
    mutating func fence() {
        guard !self.isFenced else { return }
        self.events.append(.storeTaken)
        self.state = .fenced
    }

    private mutating func advance() -> Bool {
        let before = self.durable
        while let first = self.pending.first, first.isStored {
            self.durable = first.commit.segment.number
            self.segments.durable(self.durable)
            self.pending.removeFirst()
        }
        guard self.durable > before else { return false }
        switch self.state {
        case .good, .fenced:
            break
        case .silent, .refused:
            self.state = .good
            if self.lastTry == .made { self.lastTry = .due }
            self.events.append(.storeAllClear)
        }
        return true
    }

    mutating func takeEvents() -> [GatewayEvent] {
        defer { self.events = [] }
        return self.events
    }

    // MARK: Time

    /// When to call ``timePassed(now:)`` and ``takeCommits(now:)``; nil if only an input can change the state.
    var nextDeadline: NIODeadline? {
        var next = self.sweepAt ?? .distantFuture
        switch self.state {
        case .fenced: return nil
        case .refused(let retryAt) where self.pending.first?.isSent == false: next = min(next, retryAt)
        case .silent, .refused: break
        case .good:
            if !self.pending.isEmpty { next = min(next, self.heardAt + GatewayBounds.Journal.patience) }
            if let openedAt, self.pending.count < GatewayBounds.Journal.underWay {
                next = min(next, openedAt + GatewayBounds.Journal.commitTime)
            }
        }
        return next == .distantFuture ? nil : next
    }

    /// Reports a store that has not answered for ``GatewayBounds/Journal/patience``. Once in each
    /// ``GatewayBounds/Journal/sweep``, drops segments that are not needed, and returns the segments whose unanswered
    /// jobs must be rewritten.
    mutating func timePassed(now: NIODeadline) -> [SegmentTable.Entry] {
        if case .good = self.state, !self.pending.isEmpty, self.heardAt + GatewayBounds.Journal.patience <= now {
            self.state = .silent
            self.events.append(.storeTrouble("The store has not answered for a second."))
        }
        guard let sweepAt, sweepAt <= now else { return [] }
        self.drops += self.segments.takeUnneeded(now: now)
        self.sweepAt = self.segments.isEmpty ? nil : now + GatewayBounds.Journal.sweep
        return self.segments.sparse(now: now)
    }
}
