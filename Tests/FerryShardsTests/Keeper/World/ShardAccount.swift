import NIOCore

@testable import FerryGateway
@testable import FerryGatewayTestSupport
@testable import FerryShards

/// What was read, stored, sent and answered, and whether it is right.
final class ShardAccount {
    private struct Send {
        var gateway: any WorldGateway
        /// The number of the notification in its shard; nil for a small model.
        var job: UInt64?
        /// The reason why the notification is a copy; nil if it is none.
        var copy: Copy?
        var isFromMemory: Bool
        /// Whether another process had taken the shard before.
        var isLate: Bool
        /// Whether the answer to an earlier request for the notification was durable before.
        var isAnswered: Bool
    }

    /// A notification that a gateway took over.
    private struct TakenOver: Hashable {
        var take: Int
        /// See ``Send/job``.
        var job: UInt64?
    }

    private struct Fate {
        var isBad: Bool
        /// Whether its program wrote it, and whether that was in vain because a process had ended.
        var isWritten = false
        var wasKilled = false
        var isRead = false
        /// Whether a process read it after another had taken the shard.
        var wasReadLate = false
        /// Whether it followed a notification that status 10 named, and its gateway missed PostgreSQL at that word or when
        /// it read the push. No later owner knows that the program sends it again.
        var followedWordWithoutPostgres = false
        /// The number of error responses that named it.
        var told = 0
        /// Whether a gateway was told that the push is durable.
        var isDurable = false
        /// Whether a failover has lost what was stored, and nobody has written it again.
        var isRolledBack = false
        var isRowRolledBack = false
        /// Whether a failover has lost its answer.
        var wasAnswerLost = false
        /// Whether it, or its rejection, may be missing: it was lost with its owner.
        var isExcused = false
        var isRowExcused = false
        var sends: [Send] = []
        /// The takes whose gateways know that the answer is durable.
        var answeredTo: Set<Int> = []
        /// The takes whose gateways have written the answer. They write it again after a failover.
        var answeredBy: Set<Int> = []
        /// The numbers of the notification under which PostgreSQL has an answer.
        var answersStored: Set<UInt64> = []
        /// The takes whose gateways took it over, although PostgreSQL had its answer.
        var takenOverInVain: Set<TakenOver> = []
    }

    unowned let world: ShardWorld
    private var pushes: [Int: Fate] = [:]
    /// The copies that each shard has read.
    private var copies: [Int: [Job.Reader: Copy]] = [:]
    /// The records of the machines' segments, and the names of their notifications, by shard.
    private var decoded: [Int: [UInt64: [ModelRecord]]] = [:]
    private var jobNames: [Int: [UInt64: Int]] = [:]
    private(set) var faults: [String] = []

    // What the page's table allows.
    private(set) var inFlight = 0
    private(set) var afterCheck = 0
    private(set) var fromMemory = 0
    private(set) var afterFailover = 0
    /// Pushes that arrived twice because programs sent them again after an end, and no episode expected them.
    private(set) var repeated = 0
    /// Pushes that arrived twice because a process handed them over after their programs had sent them again because of an
    /// error response: it had read them after a pause, or PostgreSQL did not get the error response.
    private(set) var foundLate = 0
    private(set) var toldCount = 0
    private(set) var copyCount = 0
    var excused: Int { self.pushes.values.reduce(0) { $0 + ($1.isExcused ? 1 : 0) } }
    var excusedRows: Int { self.pushes.values.reduce(0) { $0 + ($1.isRowExcused ? 1 : 0) } }
    private(set) var excusedDurable = 0
    var sendsFromMemory: Int { self.pushes.values.reduce(0) { $0 + $1.sends.count(where: \.isFromMemory) } }
    var count: Int { self.pushes.count }

    init(_ world: ShardWorld) { self.world = world }

    func fail(_ text: String) {
        self.world.note("FAULT: \(text)")
        if self.faults.count < 10 { self.faults.append(text) }
    }

    // MARK: Events

    func add(_ name: Int, isBad: Bool) { self.pushes[name] = Fate(isBad: isBad) }
    func isBad(_ name: Int) -> Bool { self.pushes[name]?.isBad == true }

    func read(_ name: Int) {
        if self.pushes[name]?.isRead == true { self.fail("\(name) was read twice") }
        self.pushes[name]?.isRead = true
    }

    /// Notes a notification that a machine reads. A program may send a push more than once.
    func read(_ frame: Frame, as reader: Job.Reader, by gateway: any WorldGateway) {
        self.pushes[frame.push.number]?.isRead = true
        if self.isLate(gateway) { self.pushes[frame.push.number]?.wasReadLate = true }
        if let copy = frame.copy { self.copies[gateway.owner.shard, default: [:]][reader] = copy }
    }

    func written(_ push: Push, _ copy: Copy?) {
        self.pushes[push.number]?.isWritten = true
        if copy != nil { self.copyCount += 1 }
    }

    func killed(_ push: Push) { self.pushes[push.number]?.wasKilled = true }

    func blamed(_ push: Push) {
        if !self.isBad(push.number) { self.fail("a program takes \(push.number) for rejected") }
    }

    func told(_ push: Push) {
        self.toldCount += 1
        self.pushes[push.number]?.told += 1
        if !self.isBad(push.number) { self.fail("an error response named \(push.number), which is good") }
    }

    func followedWordWithoutPostgres(_ push: Push) {
        self.pushes[push.number]?.followedWordWithoutPostgres = true
    }

    func isDurable(_ name: Int) { self.pushes[name]?.isDurable = true }
    func answerIsDurable(_ name: Int, to gateway: any WorldGateway) {
        self.pushes[name]?.answeredTo.insert(gateway.take)
    }

    func answerIsWritten(_ name: Int, by gateway: any WorldGateway) {
        self.pushes[name]?.answeredBy.insert(gateway.take)
        self.answerIsDurable(name, to: gateway)
    }

    /// A gateway takes over late segments, and judges them together.
    func tookOver(_ records: [ModelRecord], by gateway: any WorldGateway) {
        let answered = Set(records.filter { $0.kind == .answered }.map(\.job))
        for record in records where record.kind == .read && !answered.contains(record.job) {
            guard self.pushes[record.name]?.answersStored.contains(record.job) == true else { continue }
            // A small model gives the notification a new number.
            let job = self.world.rules.hasMachine ? record.job : nil
            self.pushes[record.name]?.takenOverInVain.insert(TakenOver(take: gateway.take, job: job))
        }
    }

    func rejected(_ name: Int) { self.pushes[name]?.isRowRolledBack = false }

    /// PostgreSQL has a commit.
    func wrote(_ segment: StoredSegment, in shard: Int) {
        for record in self.world.records(segment, in: shard) {
            switch record.kind {
            case .read: self.pushes[record.name]?.isRolledBack = false
            case .answered: self.pushes[record.name]?.answersStored.insert(record.job)
            }
        }
    }

    func sent(
        _ name: Int,
        as job: (id: UInt64, reader: Job.Reader)?,
        by gateway: any WorldGateway,
        checkedAt: NIODeadline,
        isFromMemory: Bool
    ) {
        let isLate = self.isLate(gateway)
        let copy = job.flatMap { self.copies[gateway.owner.shard]?[$0.reader] }
        guard let fate = self.pushes[name] else { return }
        let isAnswered = fate.sends.contains { $0.job == job?.id && fate.answeredTo.contains($0.gateway.take) }
        self.pushes[name]?.sends.append(
            Send(
                gateway: gateway,
                job: job?.id,
                copy: copy,
                isFromMemory: isFromMemory,
                isLate: isLate,
                isAnswered: isAnswered
            )
        )
        guard isLate, !isFromMemory else { return }
        if checkedAt + .milliseconds(1) < self.world.now || gateway.process.wasFrozen {
            self.afterCheck += 1
        } else {
            self.fail("\(gateway.process.name) sent \(name) although another process had taken the shard")
        }
    }

    /// Whether another process has taken the shard, or is back after a failover that lost the gateway's take.
    private func isLate(_ gateway: any WorldGateway) -> Bool {
        let shard = gateway.owner.shard
        let take = self.world.postgres.tables.shards[shard].take
        if take == gateway.take { return false }
        return take > gateway.take
            || self.gateways(of: shard).contains { $0.take == take && $0.owner.hasRight && $0 !== gateway }
    }

    private func gateways(of shard: Int) -> [any WorldGateway] {
        self.world.processes.flatMap(\.gateways).filter { $0.owner.shard == shard }
    }

    // MARK: Losses

    private func names(_ tables: ModelPostgres.Tables) -> (read: Set<Int>, answered: Set<Int>) {
        var read: Set<Int> = []
        var answered: Set<Int> = []
        for (number, shard) in tables.shards.enumerated() {
            let late = shard.late.filter { !$0.value.isDone }.mapValues(\.bytes)
            for (key, bytes) in Array(shard.segments) + Array(late) {
                for record in self.world.records(StoredSegment(number: key, bytes: bytes), in: number) {
                    if record.kind == .read { read.insert(record.name) } else { answered.insert(record.name) }
                }
            }
        }
        return (read, answered)
    }

    /// The notifications of a machine's segment, and its answers.
    func machineRecords(_ segment: StoredSegment, in shard: Int) -> [ModelRecord] {
        if let records = self.decoded[shard]?[segment.number] { return records }
        let records = MachineGateway.records(segment) { job, name in
            if let name { self.jobNames[shard, default: [:]][job] = name }
            return self.jobNames[shard]?[job]
        }
        self.decoded[shard, default: [:]][segment.number] = records
        return records
    }

    func failedOver(from old: ModelPostgres.Tables, to new: ModelPostgres.Tables) {
        let before = self.names(old)
        let after = self.names(new)
        for name in before.read.subtracting(after.read) { self.pushes[name]?.isRolledBack = true }
        for name in before.answered.subtracting(after.answered) { self.pushes[name]?.wasAnswerLost = true }
        for (old, new) in zip(old.shards, new.shards) {
            for name in old.rejections.subtracting(new.rejections) { self.pushes[name]?.isRowRolledBack = true }
        }
        self.forgot(isKill: false)
    }

    /// A process has lost its memory, or PostgreSQL its last commits. What exists nowhere is excused, if the page's table
    /// allows its loss.
    func forgot(isKill: Bool) {
        let stored = self.names(self.world.postgres.tables).read
        let gateways = self.world.processes.flatMap(\.gateways)
        let kept = gateways.reduce(into: Set<Int>()) { $0.formUnion($1.names) }
        let takes = Set(gateways.map(\.take))
        for (name, push) in self.pushes where push.isRead {
            if push.isRowRolledBack, !kept.contains(name) || push.answeredBy.isDisjoint(with: takes) {
                self.pushes[name]?.isRowExcused = true
            }
            guard !kept.contains(name), !stored.contains(name) else { continue }
            if push.isRolledBack || isKill && !push.isDurable {
                if !push.isExcused, push.isDurable { self.excusedDurable += 1 }
                self.pushes[name]?.isExcused = true
            }
        }
    }

    // MARK: The end

    /// Whether everything that was read is sent and answered.
    var isFinished: Bool {
        self.pushes.values.allSatisfy {
            $0.isExcused || $0.wasKilled && !$0.isRead || $0.isRead && !$0.sends.isEmpty && !$0.answeredTo.isEmpty
        }
    }

    func check() {
        let rejections = self.world.postgres.tables.shards.reduce(into: Set<Int>()) { $0.formUnion($1.rejections) }
        for (name, fate) in self.pushes.sorted(by: { $0.key < $1.key }) {
            if fate.told > 1 { self.fail("\(fate.told) error responses named \(name)") }
            guard fate.isRead else {
                // A small model takes no bytes for sent.
                if self.world.rules.hasMachine, !fate.wasKilled {
                    self.fail(fate.isWritten ? "\(name) was destroyed" : "\(name) was not written")
                }
                continue
            }
            if fate.sends.isEmpty {
                if !fate.isExcused { self.fail("\(name) is lost\(fate.isDurable ? ", although it was durable" : "")") }
                continue
            }
            if fate.answeredTo.isEmpty, !fate.isExcused { self.fail("\(name) is not finished") }
            if fate.isBad, !rejections.contains(name), !fate.isRowExcused, !fate.isExcused {
                self.fail("the rejection of \(name) is told nowhere")
            }
            self.checkDoubles(name, fate)
        }
        for shard in 0..<self.world.shards { self.checkOwner(of: shard) }
    }

    private func checkDoubles(_ name: Int, _ fate: Fate) {
        for (index, send) in fate.sends.enumerated().dropFirst() {
            let all = fate.sends[..<index]
            let earlier = all.filter { $0.job == send.job }
            guard !earlier.isEmpty else {
                self.checkCopy(name, fate, send, of: all)
                continue
            }
            let taken = TakenOver(take: send.gateway.take, job: send.job)
            if fate.takenOverInVain.contains(taken), !fate.wasAnswerLost {
                self.fail("\(send.gateway.process.name) sent \(name), although its answer was handed over")
            } else if send.isFromMemory || earlier.contains(where: \.isFromMemory) {
                self.fromMemory += 1
            } else if earlier.contains(where: { $0.gateway === send.gateway }) {
                self.fail("\(send.gateway.process.name) sent \(name) twice")
            } else if send.isLate || earlier.contains(where: \.isLate) {
                // Counted by `afterCheck`.
            } else if fate.wasAnswerLost {
                self.afterFailover += 1
            } else if send.isAnswered {
                self.fail("\(name) was sent again although its answer was durable")
            } else {
                self.inFlight += 1
            }
        }
    }

    /// Checks a notification that was sent under two numbers: its program had sent it again.
    private func checkCopy(_ name: Int, _ fate: Fate, _ send: Send, of others: ArraySlice<Send>) {
        let copies = Set(([send] + others).compactMap(\.copy))
        if copies.contains(.unanswered) {
            self.repeated += 1
        } else if fate.wasReadLate || fate.followedWordWithoutPostgres, copies.contains(.followed) {
            self.foundLate += 1
        } else if self.world.postgres.hasLostCommits {
            self.afterFailover += 1
        } else {
            self.fail("\(name) was sent as \(others.count + 1) notifications: \(copies)")
        }
    }

    private func checkOwner(of shard: Int) {
        let owners = self.gateways(of: shard).filter(\.owner.isOpen)
        let hasLock = self.world.postgres.locks[shard] != nil
        if owners.count != 1 || !hasLock {
            self.fail("shard \(shard) has \(owners.count) owners at the end\(hasLock ? "" : ", and no lock")")
        }
    }
}
