import DequeModule
@testable import FerryGateway
import NIOCore

@testable import FerryShards

/// A model of PostgreSQL: sessions, one advisory lock, and the functions of the schema.
final class ModelPostgres {
    struct Late {
        var bytes: [UInt8]
        var isDone = false
    }

    /// What a failover may lose.
    struct Tables {
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
    }

    unowned let world: ShardWorld
    private(set) var tables = Tables()
    private var history: [(at: NIODeadline, tables: Tables)] = []
    private(set) var lock: Backend?
    private var backends: [Int: Backend] = [:]
    private var pids = 0
    private(set) var isUp = true
    /// Changes with each start. A session of the looks notices.
    private(set) var starts = 0
    /// The number of takes.
    private(set) var takes = 0
    /// Whether a failover of this schedule loses commits.
    var losesCommits = false
    /// The time of a commit, in microseconds.
    var commitTime: ClosedRange<Int64> = 200...2000

    init(_ world: ShardWorld) { self.world = world }

    // MARK: Sessions

    func connect(_ session: ModelSession) -> Backend {
        self.pids += 1
        let backend = Backend(self, pid: self.pids, session)
        self.backends[self.pids] = backend
        return backend
    }

    fileprivate func forget(_ backend: Backend) {
        self.backends[backend.pid] = nil
        if self.lock === backend { self.lock = nil }
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
            self.tables = self.history.last { $0.at <= self.world.now - loss }?.tables ?? Tables()
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
        let old = self.world.now - .milliseconds(300)
        if self.history.count > 64, let index = self.history.lastIndex(where: { $0.at <= old }), index > 0 {
            self.history.removeFirst(index)
        }
        self.history.append((self.world.now, self.tables))
    }

    // MARK: Functions

    func look() -> [FreeShard] {
        guard self.lock == nil else { return [] }
        return [FreeShard(shard: 0, term: self.tables.term, isFreed: self.tables.isFreed, wanted: self.tables.wanted)]
    }

    func move(to node: String) {
        self.tables.wanted = node
        self.note()
    }

    fileprivate func run(_ statement: ShardStatement, on backend: Backend) -> ShardAnswer {
        defer { self.note() }
        switch statement {
        case .take(let seen): return .taken(self.take(seen: seen, on: backend))
        case .retake(let terms, let epoch, let fresh):
            let fresh = self.world.rules.namesTerm ? fresh : self.world.term()
            return .retaken(self.retake(terms, epoch, fresh, on: backend))
        case .append(let commit, let terms): return .appended(isOwner: self.append(commit, terms, on: backend))
        case .beat(let term, let known):
            guard self.tables.term == term, self.tables.pid == backend.pid || !self.world.rules.hasOneSession
            else { return .beat(nil) }
            let late = self.tables.late.filter { !$0.value.isDone && !known.contains($0.key) }.keys.sorted()
                .prefix(ShardBeat.limit)
            let segments = late.map { StoredSegment(number: $0, bytes: self.tables.late[$0]?.bytes ?? []) }
            return .beat(ShardBeat(late: segments, wanted: self.tables.wanted))
        case .free(let term):
            if self.tables.term == term { self.tables.isFreed = true }
            return .freed
        }
    }

    private func tryLock(_ backend: Backend) -> Bool {
        if self.lock == nil { self.lock = backend }
        return self.lock === backend
    }

    private func take(seen: ShardTerm, on backend: Backend) -> ShardTaken? {
        guard self.tryLock(backend) else { return nil }
        guard self.tables.term == seen || !self.world.rules.takesSeenTerm else {
            self.lock = nil
            return nil
        }
        let before = self.tables.term
        let hasRandomTerms = self.world.rules.hasRandomTerms
        self.tables.taken[before] = self.tables.segments.keys.max() ?? 0
        self.tables.epoch += 1 + (hasRandomTerms ? UInt64(self.world.number(0...255)) : 0)
        self.tables.term = hasRandomTerms ? self.world.term() : ShardTerm("epoch \(self.tables.epoch)")
        self.tables.owner = backend.session.process.name
        self.tables.isFreed = false
        self.tables.wanted = nil
        self.tables.pid = backend.pid
        self.takes += 1
        self.tables.take = self.takes
        backend.session.process.takes = self.takes
        self.world.note("\(self.tables.owner) takes the shard, epoch \(self.tables.epoch)")
        return ShardTaken(node: 1, epoch: self.tables.epoch, term: self.tables.term, before: before)
    }

    private func retake(_ terms: [ShardTerm], _ epoch: UInt64, _ fresh: ShardTerm, on backend: Backend) -> ShardReturn {
        // Without random terms an owner knows the one of its take.
        let terms = self.world.rules.hasRandomTerms ? terms : [ShardTerm("epoch \(epoch)")]
        let isOurs = terms.contains(self.tables.term) || !self.world.rules.asksForTerm
        guard isOurs else {
            self.world.note("\(backend.session.process.name) is fenced")
            return .fenced
        }
        guard self.tryLock(backend) else {
            if self.tables.owner == backend.session.process.name { self.terminate(pid: self.tables.pid) }
            return .busy
        }
        self.tables.epoch = epoch
        self.tables.term = self.world.rules.hasRandomTerms ? fresh : ShardTerm("epoch \(epoch)")
        self.tables.owner = backend.session.process.name
        self.tables.isFreed = false
        self.tables.pid = backend.pid
        self.world.note("\(self.tables.owner) is back")
        return .owner(self.tables.term)
    }

    private func append(_ commit: StoreCommit, _ terms: [ShardTerm], on backend: Backend) -> Bool {
        let number = commit.segment.number
        let terms = self.world.rules.hasRandomTerms ? terms : [ShardTerm("epoch \(commit.epoch)")]
        let isOurs = terms.contains(self.tables.term) || !self.world.rules.asksForTerm
        let isOwner = isOurs && (self.tables.pid == backend.pid || !self.world.rules.hasOneSession)
        if isOwner {
            self.tables.segments[number] = commit.segment.bytes
            for drop in commit.drops { self.tables.segments[drop] = nil }
            for late in commit.late where self.tables.late[late] != nil {
                self.world.note("segment \(late) is taken over")
                self.tables.late[late] =
                    self.world.rules.keepsDoneRows ? Late(bytes: [], isDone: true) : nil
            }
            self.world.account.wrote(commit)
        } else if number > (terms.compactMap { self.tables.taken[$0] }.max() ?? 0), self.tables.segments[number] == nil
        {
            if self.tables.late[number] == nil {
                self.world.note("segment \(number) is handed over")
                self.tables.late[number] = Late(bytes: commit.segment.bytes)
                self.world.account.wrote(commit)
            }
        }
        for change in commit.changes where change.table == .rejections {
            let name = ModelRecord.name(ofRejection: change)
            self.tables.rejections.insert(name)
            self.world.account.rejected(name)
        }
        return isOwner
    }
}

/// The server's side of a session.
final class Backend {
    unowned let postgres: ModelPostgres
    let pid: Int
    let session: ModelSession
    private var statements: Deque<ShardStatement> = []
    private var isBusy = false
    private var isAtEnd = false
    private(set) var isAlive = true
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
