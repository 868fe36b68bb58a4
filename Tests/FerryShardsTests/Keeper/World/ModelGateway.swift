import DequeModule
@testable import FerryGateway
import NIOCore

@testable import FerryShards

/// A record of the model's segments: 13 bytes.
struct ModelRecord: Hashable {
    enum Kind: UInt8 { case read = 1, answered }

    var kind: Kind
    var job: UInt64
    /// The name of the push.
    var name: Int

    static func bytes(_ records: [ModelRecord]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(records.count * 13)
        for record in records {
            bytes.append(record.kind.rawValue)
            for shift in stride(from: 56, through: 0, by: -8) {
                bytes.append(UInt8(truncatingIfNeeded: record.job >> shift))
            }
            for shift in stride(from: 24, through: 0, by: -8) {
                bytes.append(UInt8(truncatingIfNeeded: record.name >> shift))
            }
        }
        return bytes
    }

    static func records(_ bytes: [UInt8]) -> [ModelRecord] {
        stride(from: 0, to: bytes.count, by: 13).compactMap { start in
            guard let kind = Kind(rawValue: bytes[start]) else { return nil }
            let job = bytes[(start + 1)..<(start + 9)].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            let name = bytes[(start + 9)..<(start + 13)].reduce(0) { $0 << 8 | Int($1) }
            return ModelRecord(kind: kind, job: job, name: name)
        }
    }

    static func rejection(_ job: UInt64, _ name: Int) -> StoreChange {
        let key = stride(from: UInt64(56), through: 0, by: -8).map { UInt8(truncatingIfNeeded: job >> $0) }
        return StoreChange(.rejections, key: key, value: Array("\(name)".utf8))
    }

    static func name(ofRejection change: StoreChange) -> Int? {
        Int(String(decoding: change.value ?? [], as: UTF8.self))
    }
}

/// A model of a gateway: it reads pushes, forwards them when they are durable, and notes the answers. There is one for
/// each take.
final class ModelGateway: WorldGateway {
    private enum Stage { case read, ready, sent, answered }

    private struct Job {
        var name: Int
        var stage: Stage
        var segment: UInt64
    }

    private enum State {
        case recovering, running, draining, fenced, over
    }

    private struct Segment {
        var number: UInt64
        var closedAt: NIODeadline
        var live: Int
        var isDurable = false
    }

    /// How long a segment stays. It is longer than the ring: a dropped segment that is written again has no answers.
    private static let lifetime = TimeAmount.seconds(12)

    unowned let owner: ModelOwner
    let epoch: UInt64
    let take: Int
    private var state = State.recovering
    private var number: UInt64
    private var nextJob: UInt64
    private var jobs: [UInt64: Job] = [:]
    private(set) var names: Set<Int> = []
    private var segments: Deque<Segment> = []

    private var records: [ModelRecord] = []
    private var changes: [StoreChange] = []
    private var lateNumbers: [UInt64] = []
    private var seenLate: Set<UInt64> = []
    /// The late segments that came before the recovery was over.
    private var early: [StoredSegment] = []
    private var isDue = false
    /// The jobs that a commit stores, and the names that it answers.
    private var pending: [UInt64: (read: [UInt64], answered: [Int])] = [:]
    /// The commits that it counts as durable, although PostgreSQL does not have them.
    private var served: Set<UInt64> = []
    private var waiting: Int { self.pending.count - self.served.count }

    private var ready: [UInt64] = []
    private var isTurnDue = false
    private var inFlight = 0

    init(_ owner: ModelOwner, _ taken: ShardTaken, take: Int) {
        self.owner = owner
        self.epoch = taken.epoch
        self.take = take
        self.number = taken.epoch << 40
        self.nextJob = taken.epoch << 40
    }

    var isOpen: Bool {
        guard case .running = self.state else { return false }
        return self.process.isAlive && self.owner.gateway === self
    }

    // MARK: Recovery

    func recover() {
        self.process.run(after: self.world.time(1000...50_000), on: .session) {
            guard case .recovering = self.state else { return }
            guard self.world.postgres.isUp, self.process.link.isWhole else { return self.recover() }
            let segments = self.world.postgres.tables.shards[self.owner.shard].segments.sorted { $0.key < $1.key }
            for (number, bytes) in segments {
                self.segments.append(Segment(number: number, closedAt: self.process.now, live: 0, isDurable: true))
                for record in ModelRecord.records(bytes) {
                    switch record.kind {
                    case .read: self.jobs[record.job] = Job(name: record.name, stage: .ready, segment: number)
                    case .answered:
                        self.jobs[record.job]?.stage = .answered
                        self.world.account.answerIsDurable(record.name, to: self)
                    }
                    self.names.insert(record.name)
                }
            }
            for (id, job) in self.jobs.sorted(by: { $0.key < $1.key }) where job.stage == .ready {
                self.live(job.segment, +1)
                self.ready.append(id)
            }
            self.state = .running
            if !self.early.isEmpty { self.late(self.early) }
            self.forward()
        }
    }

    private func live(_ number: UInt64, _ change: Int) {
        if let index = self.segments.lastIndex(where: { $0.number == number }) { self.segments[index].live += change }
    }

    // MARK: Clients

    func read(_ name: Int) {
        // A process reads until it knows that it is fenced. What comes later is not read.
        guard case .running = self.state else { return }
        self.world.account.read(name)
        self.note(read: name)
    }

    private func note(read name: Int) {
        self.names.insert(name)
        self.jobs[self.nextJob] = Job(name: name, stage: .read, segment: self.number)
        self.record(ModelRecord(kind: .read, job: self.nextJob, name: name))
        self.nextJob += 1
        if self.owner.right == .fromMemory { self.forward() }
    }

    func late(_ segments: [StoredSegment]) {
        guard self.state != .fenced, self.state != .over else { return }
        if case .recovering = self.state {
            self.early += segments
            return
        }
        let records = segments.filter {
            self.seenLate.insert($0.number).inserted || !self.world.rules.remembersLate
        }
        .flatMap { ModelRecord.records($0.bytes) }
        let answered = Set(records.filter { $0.kind == .answered }.map(\.job))
        self.lateNumbers += segments.map(\.number)
        self.world.account.tookOver(records, by: self)
        for record in records where record.kind == .answered {
            self.world.account.answerIsDurable(record.name, to: self)
        }
        for record in records where record.kind == .read && !answered.contains(record.job) {
            self.note(read: record.name)
        }
        self.commitSoon()
    }

    // MARK: Commits

    private func record(_ record: ModelRecord) {
        self.records.append(record)
        self.commitSoon()
    }

    private func commitSoon() {
        if self.waiting == 0 { return self.seal() }
        guard !self.isDue else { return }
        self.isDue = true
        self.process.run(after: .milliseconds(10), on: .session) { self.sealIfDue() }
    }

    private func sealIfDue() {
        if self.isDue, self.waiting < self.world.rules.commits || self.state == .fenced { self.seal() }
    }

    private func seal() {
        self.isDue = false
        guard self.state != .over, !self.records.isEmpty || !self.lateNumbers.isEmpty else { return }
        var commit = StoreCommit(
            epoch: self.epoch,
            segment: StoredSegment(number: self.number, bytes: ModelRecord.bytes(self.records))
        )
        commit.changes = self.changes
        commit.late = self.lateNumbers
        while let first = self.segments.first, first.isDurable, first.live == 0,
            first.closedAt + Self.lifetime <= self.process.now
        {
            commit.drops.append(first.number)
            self.segments.removeFirst()
        }
        var read: [UInt64] = []
        var answered: [Int] = []
        var live = 0
        for record in self.records {
            switch record.kind {
            case .read:
                read.append(record.job)
                if self.jobs[record.job]?.stage != .answered { live += 1 }
            case .answered:
                answered.append(record.name)
            }
        }
        self.segments.append(Segment(number: self.number, closedAt: self.process.now, live: live))
        self.pending[self.number] = (read, answered)
        self.number += 1
        self.records = []
        self.changes = []
        self.lateNumbers = []
        if self.owner.right == .fromMemory { self.served.insert(commit.segment.number) }
        self.owner.feed(.commit(commit))
    }

    func answered(commit number: UInt64, _ answer: StoreAnswer) {
        guard let commit = self.pending.removeValue(forKey: number) else { return }
        self.served.remove(number)
        if answer == .durable {
            if let index = self.segments.lastIndex(where: { $0.number == number }) {
                self.segments[index].isDurable = true
            }
            for name in commit.answered { self.world.account.answerIsWritten(name, by: self) }
            for job in commit.read {
                if let name = self.jobs[job]?.name { self.world.account.isDurable(name) }
                guard self.jobs[job]?.stage == .read else { continue }
                self.jobs[job]?.stage = .ready
                self.ready.append(job)
            }
            self.forward()
        }
        if self.waiting == 0 || self.isDue { self.seal() }
        self.endIfDone()
    }

    // MARK: Forwarding

    func rightChanged() {
        if self.owner.right == .fromMemory {
            self.served.formUnion(self.pending.keys)
            self.sealIfDue()
        }
        self.forward()
    }

    func killed() {}

    private func forward() {
        guard !self.isTurnDue else { return }
        let isServing = self.owner.right == .fromMemory
        guard isServing || !self.ready.isEmpty else { return }
        self.isTurnDue = true
        let wait = max(.zero, self.world.stalledUntil - self.world.now)
        self.process.run(after: wait + self.world.time(0...1000), on: .upstream) { self.turn() }
    }

    /// A turn of the upstream's event loop: one check of the right, and then the writes.
    private func turn() {
        self.isTurnDue = false
        guard case .running = self.state else { return }
        guard self.owner.hasRight || !self.world.rules.checksRight else { return }
        if self.owner.right == .fromMemory {
            for id in self.jobs.filter({ $0.value.stage == .read }).keys.sorted() {
                self.jobs[id]?.stage = .ready
                self.ready.append(id)
            }
        }
        let turn = self.ready.prefix(20).filter { self.jobs[$0]?.stage == .ready }
        self.ready.removeFirst(min(20, self.ready.count))
        let isFromMemory = self.owner.right == .fromMemory
        for job in turn { self.jobs[job]?.stage = .sent }
        self.inFlight += turn.count
        let checkedAt = self.world.now
        self.process.run(after: self.world.time(0...300), on: .upstream) {
            for id in turn {
                guard let job = self.jobs[id] else { continue }
                self.world.account.sent(job.name, as: nil, by: self, checkedAt: checkedAt, isFromMemory: isFromMemory)
                self.world.send(job.name, of: self, id)
            }
            self.forward()
        }
    }

    func answered(_ id: UInt64, isBad: Bool) {
        guard self.state != .fenced, self.state != .over, let job = self.jobs[id], job.stage == .sent else { return }
        self.jobs[id]?.stage = .answered
        self.inFlight -= 1
        if job.segment != self.number { self.live(job.segment, -1) }
        if isBad { self.changes.append(ModelRecord.rejection(id, job.name)) }
        self.record(ModelRecord(kind: .answered, job: id, name: job.name))
        self.endIfDone()
    }

    // MARK: Endings

    /// Reads nothing and forwards nothing more; waits for the answers in flight.
    func drain() {
        switch self.state {
        case .recovering:
            self.state = .over
            return self.owner.feed(.finish(isClean: true))
        case .running: self.state = .draining
        case .draining, .fenced, .over: return
        }
        self.process.run(after: .seconds(5), on: .session) { self.endIfDone(isLate: true) }
        self.endIfDone()
    }

    func fence() {
        guard self.state != .over else { return self.owner.feed(.finish(isClean: false)) }
        self.state = .fenced
        self.seal()
        self.endIfDone()
    }

    private func endIfDone(isLate: Bool = false) {
        guard self.pending.isEmpty, self.records.isEmpty else { return }
        switch self.state {
        case .recovering, .running, .over:
            break
        case .draining:
            guard self.inFlight == 0 || isLate else { break }
            self.state = .over
            let isClean = self.inFlight == 0
            // Not inside the keeper's own actions.
            self.process.run(after: .zero, on: .session) { self.owner.feed(.finish(isClean: isClean)) }
        case .fenced:
            self.state = .over
            // The new owner has seen everything then.
            self.process.run(after: GatewayBounds.Journal.handover, on: .session) {
                self.owner.feed(.finish(isClean: false))
            }
        }
    }
}
