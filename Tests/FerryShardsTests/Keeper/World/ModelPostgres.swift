import DequeModule
@testable import FerryGateway
import NIOCore

@testable import FerryShards

/// A model of PostgreSQL: sessions, an advisory lock for each shard, and the functions of the schema.
final class ModelPostgres {
    struct Late {
        var bytes: [UInt8]
        var isDone = false
    }

    /// The rows of one shard.
    struct Shard {
        var epoch: UInt64 = 0
        var term = ShardTerm("first")
        var owner = ""
        var isFreed = true
        var wanted: String?
        var pid = 0
        var segments: [UInt64: [UInt8]] = [:]
        var late: [UInt64: Late] = [:]
        var taken: [ShardTerm: UInt64] = [:]
        /// The number of the take of the present owner.
        var take = 0
        /// The names of the rejected pushes.
        var rejections: Set<Int> = []
        /// The rows of the small tables.
        var rows: [StoreTable: [[UInt8]: [UInt8]]] = [:]
    }

    /// What a failover may lose.
    struct Tables {
        var shards: [Shard]
        /// The habits of all clients.
        var habits: [[UInt8]: [UInt8]] = [:]

        init(shards count: Int) { self.shards = Array(repeating: Shard(), count: count) }
    }

    unowned let world: ShardWorld
    private(set) var tables: Tables
    private var history: [(at: NIODeadline, tables: Tables)] = []
    /// The sessions that have the locks, by shard.
    private(set) var locks: [Int: Backend] = [:]
    private var backends: [Int: Backend] = [:]
    private var pids = 0
    private(set) var isUp = true
    /// Changes with each start. A session of the looks notices.
    private(set) var starts = 0
    /// The number of takes.
    private(set) var takes = 0
    /// Whether a failover of this schedule loses commits.
    var losesCommits = false
    /// Whether a failover has lost commits.
    private(set) var hasLostCommits = false
    /// The time of a commit, in microseconds.
    var commitTime = ModelPostgres.usualTime
    /// Until then, one of four commits is refused.
    var refusesUntil = NIODeadline.distantPast
    static let usualTime: ClosedRange<Int64> = 200...2000

    init(_ world: ShardWorld, shards count: Int) {
        self.world = world
        self.tables = Tables(shards: count)
    }

    // MARK: Sessions

    func connect(_ session: ModelSession) -> Backend {
        self.pids += 1
        let backend = Backend(self, pid: self.pids, session)
        self.backends[self.pids] = backend
        return backend
    }

    fileprivate func forget(_ backend: Backend) {
        self.backends[backend.pid] = nil
        if self.locks[backend.shard] === backend { self.locks[backend.shard] = nil }
    }

    func terminate(pid: Int) { self.backends[pid]?.terminate() }
    func terminateAll() { for backend in self.backends.values.sorted(by: { $0.pid < $1.pid }) { backend.terminate() } }

    // MARK: Faults

    /// - Parameters:
    ///   - time: how long no server accepts connections.
    ///   - loss: the age of the commits that a failover loses; nil: the same server comes back.
    ///   - isSilent: whether the clients hear nothing of the end.
    func crash(for time: TimeAmount, losing loss: TimeAmount?, isSilent: Bool) {
        guard self.isUp else { return }
        self.world.note("postgres goes\(loss == nil ? "" : ", and a failover comes")\(isSilent ? " in silence" : "")")
        self.isUp = false
        for backend in self.backends.values { backend.session.isForgotten = isSilent }
        self.terminateAll()
        if let loss, !self.world.rules.isSynchronous {
            let old = self.tables
            self.tables =
                self.history.last { $0.at <= self.world.now - loss }?.tables ?? Tables(shards: old.shards.count)
            self.hasLostCommits = true
            self.history = [(self.world.now, self.tables)]
            self.world.account.failedOver(from: old, to: self.tables)
        }
        self.world.after(time) {
            self.isUp = true
            self.starts += 1
        }
    }

    private func note() {
        guard self.losesCommits else { return }
        let old = self.world.now - .seconds(2)
        if self.history.count > 64, let index = self.history.lastIndex(where: { $0.at <= old }), index > 0 {
            self.history.removeFirst(index)
        }
        self.history.append((self.world.now, self.tables))
    }

    // MARK: Functions

    func look() -> [FreeShard] {
        self.tables.shards.enumerated().filter { self.locks[$0.offset] == nil }.map { number, shard in
            FreeShard(shard: number, term: shard.term, isFreed: shard.isFreed, wanted: shard.wanted)
        }
    }

    func move(_ shard: Int, to node: String) {
        self.tables.shards[shard].wanted = node
        self.note()
    }

    /// The rows of the shard of a session.
    private subscript(backend: Backend) -> Shard {
        get { self.tables.shards[backend.shard] }
        _modify { yield &self.tables.shards[backend.shard] }
    }

    fileprivate func run(_ statement: ShardStatement, on backend: Backend) -> ShardAnswer {
        defer { self.note() }
        switch statement {
        case .take(let seen): return .taken(self.take(seen: seen, on: backend))
        case .retake(let terms, let epoch, let fresh):
            let fresh = self.world.rules.namesTerm ? fresh : self.world.term()
            return .retaken(self.retake(terms, epoch, fresh, on: backend))
        case .append(let commit, let terms):
            let before = backend.number ?? commit.segment.number - 1
            backend.number = before
            guard self.world.now >= self.refusesUntil || self.world.number(0...3) > 0 else {
                return .failed("The disk is full.")
            }
            if self.world.rules.refusesGaps, self.isOurs(terms, on: backend), before != commit.segment.number - 1 {
                return .failed("The commit before was refused.")
            }
            backend.number = commit.segment.number
            return .appended(isOwner: self.append(commit, terms, on: backend))
        case .beat(let term, let known):
            guard self[backend].term == term, self[backend].pid == backend.pid || !self.world.rules.hasOneSession
            else { return .beat(nil) }
            let late = self[backend].late.filter { !$0.value.isDone && !known.contains($0.key) }.keys.sorted()
                .prefix(ShardBeat.limit)
            let segments = late.map { StoredSegment(number: $0, bytes: self[backend].late[$0]?.bytes ?? []) }
            return .beat(ShardBeat(late: segments, wanted: self[backend].wanted))
        case .free(let term):
            if self[backend].term == term { self[backend].isFreed = true }
            return .freed
        }
    }

    private func tryLock(_ backend: Backend) -> Bool {
        if self.locks[backend.shard] == nil { self.locks[backend.shard] = backend }
        return self.locks[backend.shard] === backend
    }

    /// Gives the owner a new term.
    private func set(_ term: ShardTerm, on backend: Backend) {
        self[backend].term = self.world.rules.hasRandomTerms ? term : ShardTerm("epoch \(self[backend].epoch)")
        backend.session.owner.term = self[backend].term
    }

    /// The terms of the owner that count.
    private func known(_ terms: [ShardTerm], on backend: Backend) -> [ShardTerm] {
        self.world.rules.knowsAllTerms ? terms : terms.filter { $0 == backend.session.owner.term }
    }

    private func isOurs(_ terms: [ShardTerm], on backend: Backend) -> Bool {
        self.known(terms, on: backend).contains(self[backend].term) || !self.world.rules.asksForTerm
    }

    private func take(seen: ShardTerm, on backend: Backend) -> ShardTaken? {
        guard self.tryLock(backend) else { return nil }
        guard self[backend].term == seen || !self.world.rules.takesSeenTerm else {
            self.locks[backend.shard] = nil
            return nil
        }
        let before = self[backend].term
        self[backend].taken[before] = self[backend].segments.keys.max() ?? 0
        self[backend].epoch += 1 + (self.world.rules.hasRandomGaps ? UInt64(self.world.number(0...255)) : 0)
        self.set(self.world.term(), on: backend)
        self[backend].owner = backend.process.name
        self[backend].isFreed = false
        self[backend].wanted = nil
        self[backend].pid = backend.pid
        self.takes += 1
        self[backend].take = self.takes
        backend.session.owner.takes = self.takes
        self.world.note("\(backend.process.name) takes shard \(backend.shard), epoch \(self[backend].epoch)")
        // The `apns-id`s of two shards differ.
        let node = UInt64(backend.shard) + 1
        return ShardTaken(node: node, epoch: self[backend].epoch, term: self[backend].term, before: before)
    }

    private func retake(_ terms: [ShardTerm], _ epoch: UInt64, _ fresh: ShardTerm, on backend: Backend) -> ShardReturn {
        guard self.isOurs(terms, on: backend) else {
            self.world.note("\(backend.process.name) is fenced from shard \(backend.shard)")
            return .fenced
        }
        guard self.tryLock(backend) else {
            if self[backend].owner == backend.process.name { self.terminate(pid: self[backend].pid) }
            return .busy
        }
        self[backend].epoch = epoch
        self.set(fresh, on: backend)
        self[backend].owner = backend.process.name
        self[backend].isFreed = false
        self[backend].pid = backend.pid
        self.world.note("\(backend.process.name) is back in shard \(backend.shard)")
        return .owner(self[backend].term, last: self[backend].segments.keys.max())
    }

    private func append(_ commit: StoreCommit, _ terms: [ShardTerm], on backend: Backend) -> Bool {
        let number = commit.segment.number
        let terms = self.known(terms, on: backend)
        let isOwner =
            self.isOurs(terms, on: backend) && (self[backend].pid == backend.pid || !self.world.rules.hasOneSession)
        var isKept = isOwner
        if isOwner {
            self[backend].segments[number] = commit.segment.bytes
            for drop in commit.drops { self[backend].segments[drop] = nil }
            for late in commit.late where self[backend].late[late] != nil {
                self.world.note("segment \(late) is taken over")
                self[backend].late[late] =
                    self.world.rules.keepsDoneRows ? Late(bytes: [], isDone: true) : nil
            }
            self.world.account.wrote(commit.segment, in: backend.shard)
        } else if number > (terms.compactMap { self[backend].taken[$0] }.max() ?? 0),
            self[backend].segments[number] == nil
        {
            if self[backend].late[number] == nil {
                self.world.note("segment \(number) is handed over")
                isKept = true
                self[backend].late[number] = Late(bytes: commit.segment.bytes)
                self.world.account.wrote(commit.segment, in: backend.shard)
            }
        }
        if isKept { for change in commit.changes { self.change(change, on: backend) } }
        return isOwner
    }

    private func change(_ change: StoreChange, on backend: Backend) {
        switch change.table {
        case .rejections:
            guard let name = self.world.name(ofRejection: change) else { break }
            self[backend].rejections.insert(name)
            self.world.account.rejected(name)
        case .habits: self.tables.habits[change.key] = change.value
        default: self[backend].rows[change.table, default: [:]][change.key] = change.value
        }
    }
}

/// The server's side of a session.
final class Backend {
    unowned let postgres: ModelPostgres
    let pid: Int
    let session: ModelSession
    var shard: Int { self.session.owner.shard }
    var process: ModelProcess { self.session.owner.process }
    private var statements: Deque<ShardStatement> = []
    private var isBusy = false
    private var isAtEnd = false
    private(set) var isAlive = true
    /// The number of the last commit.
    var number: UInt64?
    private var activeAt: NIODeadline

    init(_ postgres: ModelPostgres, pid: Int, _ session: ModelSession) {
        self.postgres = postgres
        self.pid = pid
        self.session = session
        self.activeAt = postgres.world.now
        self.watchIdleness()
    }

    private func watchIdleness() {
        let idle = self.postgres.world.rules.keeper.idle
        self.postgres.world.at(max(self.activeAt, self.postgres.world.now - .milliseconds(1)) + idle) {
            guard self.isAlive else { return }
            if !self.isBusy, self.statements.isEmpty, self.activeAt + idle <= self.postgres.world.now {
                self.terminate()
            } else {
                self.watchIdleness()
            }
        }
    }

    func receive(_ statement: ShardStatement) {
        self.statements.append(statement)
        self.work()
    }

    /// The client has closed its side. Statements that have arrived still run.
    func receiveEnd() {
        self.isAtEnd = true
        self.work()
    }

    private func work() {
        guard self.isAlive, !self.isBusy else { return }
        guard let statement = self.statements.popFirst() else {
            if self.isAtEnd { self.terminate() }
            return
        }
        self.isBusy = true
        let world = self.postgres.world
        var isWrite = true
        if case .beat = statement { isWrite = false }
        world.after(world.time(isWrite ? self.postgres.commitTime : 100...500)) {
            guard self.isAlive else { return }
            let answer = self.postgres.run(statement, on: self)
            self.isBusy = false
            self.activeAt = world.now
            self.session.reply(answer)
            self.work()
        }
    }

    func terminate() {
        guard self.isAlive else { return }
        self.isAlive = false
        self.postgres.forget(self)
        self.session.replyEnd()
    }
}
