internal import DequeModule
internal import FerryCore
internal import FerryMachine
internal import NIOCore

/// The journal of a gateway, without I/O: records go in, commits for the store come out.
///
/// ```
///   records ──▶ open segment ──▶ waiting ──▶ under way ──▶ durable
///                                   ▲            │
///                                   └─ refused ──┘
/// ```
///
/// What has to be on disk before which byte:
/// * a notification before it goes to the upstream;
/// * the row of the feedback list before the notification counts as accepted;
/// * an episode before the first of the six bytes that open it.
///
/// The owner of a record remembers ``number``, and acts when ``durable`` has reached it.
package struct Journal {
    private struct Pending {
        var commit: StoreCommit
        /// When its first record came.
        var openedAt: NIODeadline
        var isSent = false
        var isStored = false
    }

    private enum State {
        case good
        /// The store does not answer.
        case silent
        /// The store refuses. The next try is at that time.
        case refused(retryAt: NIODeadline)
        /// Another process has the store.
        case fenced
    }

    let epoch: UInt64
    /// The names of the identities, by their numbers.
    private let identities: [String]
    private let boot: BootIdentifier?
    private let checksum: Segment.Checksum
    private var state = State.good

    /// The number of the open segment.
    private(set) var number: UInt64
    private var buffer = Segment.begin(capacity: GatewayBounds.Journal.segmentLength + 16_384)
    private var entry: SegmentTable.Entry?
    /// The connections that the open segment has named.
    private var named: Set<ConnectionID> = []
    private var changes: [StoreChange] = []
    private var drops: [UInt64] = []
    /// Whether something waits for the open segment.
    private var isAwaited = false
    /// When the first record of the open segment came; nil: it is empty.
    private var openedAt: NIODeadline?

    private var pending: Deque<Pending> = []
    /// When the store answered last, or got a commit after it had answered all.
    private var heardAt = NIODeadline.distantPast
    /// Every segment up to this one is durable.
    private(set) var durable: UInt64
    var segments = SegmentTable()
    private var sweepAt: NIODeadline?
    private var events: [GatewayEvent] = []

    /// The epochs whose numbers fit into 64 bits.
    static let epochs: Range<UInt64> = 1..<1 << 24

    /// The first number of an epoch: for segments, connections and jobs. None is ever used twice.
    static func firstNumber(of epoch: UInt64) -> UInt64 { epoch << 40 }

    /// - Parameters:
    ///   - identities: the names of the identities, by their numbers. They are written to disk.
    ///   - boot: of this machine; nil: it is not known.
    ///   - checksum: a keyed hash, with the key of the store.
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

    // MARK: Records

    /// Notes a notification. It may go to the upstream when ``number`` is durable.
    mutating func read(_ job: inout Job, as id: JobID, now: Moment) {
        self.name(job.first.connection, job.scope, now: now)
        self.buffer.write(read: job, as: id)
        job.segment = self.number
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

    /// Notes the last answer to a job that was in this segment.
    mutating func answered(_ id: JobID, _ fate: JobFate, in segment: UInt64, now: Moment) {
        self.begin(now: now)
        self.buffer.write(answered: id, fate)
        if segment == self.number {
            self.entry?.live -= 1
        } else {
            self.segments.answered(segment, now: now.monotonic)
        }
    }

    /// Notes that a job may have arrived, and goes out once more.
    mutating func doubted(_ id: JobID, now: Moment) {
        self.begin(now: now)
        self.buffer.write(doubted: id)
    }

    /// Notes that an error response is about to be written. It may be when ``number`` is durable.
    mutating func told(_ episode: EpisodeID, _ job: JobID?, _ scope: ReplayScope, now: Moment) {
        self.name(episode.connection, scope, now: now)
        self.buffer.write(told: episode, job)
        self.isAwaited = true
        self.segments.open(episode, since: now.monotonic - GatewayBounds.Journal.episodeAge)
    }

    mutating func over(_ episode: EpisodeID, now: Moment) {
        // The episodes of a crash have no record.
        guard episode.sequence != .max else { return }
        self.begin(now: now)
        self.buffer.write(over: episode)
        self.segments.over(episode)
    }

    /// Notes that an error response of ``told(_:_:_:now:)`` was not written.
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

    /// Notes a change of a row. It is made when ``number`` is durable.
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

    /// Notes what a client does after error responses.
    mutating func learned(_ habit: ClientHabit, now: Moment) {
        self.begin(now: now)
        self.changes.append(habit.row(identities: self.identities))
    }

    /// Removes the row of a client that is forgotten.
    mutating func forget(_ scope: ReplayScope, now: Moment) {
        self.begin(now: now)
        self.changes.append(
            StoreChange(.habits, key: ClientHabit.key(scope, identities: self.identities), value: nil)
        )
    }

    /// Removes a row that an earlier process left.
    mutating func forget(_ row: StoreRow, in table: StoreTable, now: Moment) {
        self.begin(now: now)
        self.changes.append(StoreChange(table, key: row.key, value: nil))
    }

    /// Writes an unanswered job of an older segment anew.
    mutating func carry(_ job: inout Job, as id: JobID, now: Moment) {
        self.name(job.first.connection, job.scope, now: now)
        self.buffer.write(read: job, as: id)
        if job.doubts > 0 { self.buffer.write(doubted: id) }
        self.segments.moved(job.segment)
        job.segment = self.number
        self.entry?.carried.append(id)
        self.entry?.count += 1
        self.entry?.live += 1
    }

    private mutating func name(_ id: ConnectionID, _ scope: ReplayScope, now: Moment) {
        self.begin(now: now)
        guard self.named.insert(id).inserted else { return }
        self.buffer.write(client: id, identity: self.identities[scope.identity], address: scope.addressBytes)
    }

    private mutating func begin(now: Moment) {
        guard self.openedAt == nil else { return }
        self.openedAt = now.monotonic
        self.entry = SegmentTable.Entry(number: self.number, openedAt: now.monotonic, answeredAt: now.monotonic)
        if self.sweepAt == nil { self.sweepAt = now.monotonic + GatewayBounds.Journal.sweep }
    }

    // MARK: Commits

    /// Whether the store keeps up, so that what was read a while ago is durable, and if not, whether it may soon.
    func spool(now: NIODeadline) -> GatewayConnection.Spool {
        let waiting = (self.pending.first?.openedAt ?? self.openedAt).map { now - $0 } ?? .zero
        switch self.state {
        case .fenced: return .full
        case .good where waiting < GatewayBounds.Journal.patience: return .open
        case .good, .silent, .refused: return waiting < GatewayBounds.Journal.outage ? .waiting : .full
        }
    }

    var isFenced: Bool { if case .fenced = self.state { true } else { false } }

    /// Whether nothing waits to be written, or the store takes nothing.
    var isOver: Bool { if case .good = self.state { self.isIdle } else { true } }

    /// Whether nothing waits to be written.
    var isIdle: Bool { self.openedAt == nil && self.pending.isEmpty }

    /// The length of the open segment.
    var openLength: Int { self.buffer.readableBytes }

    /// Looks soon which of the segments of an earlier process are needed no more.
    mutating func restored(now: NIODeadline) {
        if !self.segments.isEmpty { self.sweepAt = now + GatewayBounds.Journal.sweep }
    }

    /// Ends the open segment, however short it is.
    mutating func seal(now: Moment) {
        if let openedAt { self.seal(openedAt, now: now) }
    }

    /// Removes and returns the commits for the store, in order.
    mutating func takeCommits(now: Moment) -> [StoreCommit] {
        if let openedAt, self.isDue(openedAt, now: now.monotonic) { self.seal(openedAt, now: now) }
        var room = GatewayBounds.Journal.underWay
        switch self.state {
        case .good, .silent: break
        case .refused(let retryAt): room = retryAt <= now.monotonic ? 1 : 0
        case .fenced: room = 0
        }
        var commits: [StoreCommit] = []
        for index in self.pending.indices.prefix(room) where !self.pending[index].isSent {
            self.pending[index].isSent = true
            commits.append(self.pending[index].commit)
        }
        return commits
    }

    private func isDue(_ openedAt: NIODeadline, now: NIODeadline) -> Bool {
        if self.buffer.readableBytes >= GatewayBounds.Journal.segmentLength { return true }
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
        let commit = StoreCommit(epoch: self.epoch, segment: segment, changes: self.changes, drops: self.drops)
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
    }

    private static let header = Segment.begin(capacity: Segment.headerLength)

    /// Takes the answer of the store to a commit. Returns whether ``durable`` has moved.
    mutating func answered(_ number: UInt64, _ answer: StoreAnswer, now: NIODeadline) -> Bool {
        guard let index = self.pending.firstIndex(where: { $0.commit.segment.number == number }) else { return false }
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
            if !self.isFenced { self.events.append(.storeTaken) }
            self.state = .fenced
        }
        return false
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
            self.events.append(.storeAllClear)
        }
        return true
    }

    mutating func takeEvents() -> [GatewayEvent] {
        defer { self.events = [] }
        return self.events
    }

    // MARK: Time

    /// When to call ``timePassed(now:)`` and ``takeCommits(now:)``.
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

    /// Notes what has waited for too long. Returns the segments whose unanswered jobs are to be carried.
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
