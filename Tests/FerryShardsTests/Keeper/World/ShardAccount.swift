@testable import FerryGateway
import NIOCore

@testable import FerryShards

/// What was read, stored, sent and answered, and whether it is right.
final class ShardAccount {
    private struct Send {
        var gateway: ModelGateway
        var isFromMemory: Bool
        /// Whether another process had taken the shard before.
        var isLate: Bool
    }

    private struct Push {
        var isBad: Bool
        var isRead = false
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
        /// Whether PostgreSQL has an answer.
        var isAnswerStored = false
        /// The takes whose gateways took it over, although PostgreSQL had an answer.
        var takenOverInVain: Set<Int> = []
    }

    unowned let world: ShardWorld
    private var pushes: [Int: Push] = [:]
    private(set) var faults: [String] = []

    // What the page's table allows.
    private(set) var inFlight = 0
    private(set) var afterCheck = 0
    private(set) var fromMemory = 0
    private(set) var afterFailover = 0
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

    func add(_ name: Int, isBad: Bool) { self.pushes[name] = Push(isBad: isBad) }
    func isBad(_ name: Int) -> Bool { self.pushes[name]?.isBad == true }

    func read(_ name: Int) {
        if self.pushes[name]?.isRead == true { self.fail("\(name) was read twice") }
        self.pushes[name]?.isRead = true
    }

    func isDurable(_ name: Int) { self.pushes[name]?.isDurable = true }
    func answerIsDurable(_ name: Int, to gateway: ModelGateway) { self.pushes[name]?.answeredTo.insert(gateway.take) }
    func tookOver(_ name: Int, by gateway: ModelGateway) {
        if self.pushes[name]?.isAnswerStored == true { self.pushes[name]?.takenOverInVain.insert(gateway.take) }
    }
    func rejected(_ name: Int) { self.pushes[name]?.isRowRolledBack = false }

    /// PostgreSQL has a commit.
    func wrote(_ commit: StoreCommit) {
        for record in ModelRecord.records(commit.segment.bytes) {
            switch record.kind {
            case .read: self.pushes[record.name]?.isRolledBack = false
            case .answered: self.pushes[record.name]?.isAnswerStored = true
            }
        }
    }

    func sent(_ name: Int, by gateway: ModelGateway, checkedAt: NIODeadline, isFromMemory: Bool) {
        let isLate = self.isLate(gateway)
        self.pushes[name]?.sends.append(Send(gateway: gateway, isFromMemory: isFromMemory, isLate: isLate))
        guard isLate, !isFromMemory else { return }
        if checkedAt + .milliseconds(1) < self.world.now || gateway.process.wasFrozen {
            self.afterCheck += 1
        } else {
            self.fail("\(gateway.process.name) sent \(name) although another process had taken the shard")
        }
    }

    /// Whether another process has taken the shard, or is back after a failover that lost the gateway's take.
    private func isLate(_ gateway: ModelGateway) -> Bool {
        let take = self.world.postgres.tables.take
        if take == gateway.take { return false }
        return take > gateway.take
            || self.world.processes.contains { $0.gateway?.take == take && $0.hasRight && $0.gateway !== gateway }
    }

    // MARK: Losses

    private static func names(_ tables: ModelPostgres.Tables) -> (read: Set<Int>, answered: Set<Int>) {
        var read: Set<Int> = []
        var answered: Set<Int> = []
        let late = tables.late.values.lazy.filter { !$0.isDone }.map(\.bytes)
        for bytes in Array(tables.segments.values) + late {
            for record in ModelRecord.records(bytes) {
                if record.kind == .read { read.insert(record.name) } else { answered.insert(record.name) }
            }
        }
        return (read, answered)
    }

    func failedOver(from old: ModelPostgres.Tables, to new: ModelPostgres.Tables) {
        let before = Self.names(old)
        let after = Self.names(new)
        for name in before.read.subtracting(after.read) { self.pushes[name]?.isRolledBack = true }
        for name in before.answered.subtracting(after.answered) { self.pushes[name]?.wasAnswerLost = true }
        for name in old.rejections.subtracting(new.rejections) { self.pushes[name]?.isRowRolledBack = true }
        self.forgot(isKill: false)
    }

    /// A process has lost its memory, or PostgreSQL its last commits. What exists nowhere is excused, if the page's table
    /// allows its loss.
    func forgot(isKill: Bool) {
        let stored = Self.names(self.world.postgres.tables).read
        let kept = self.world.processes.reduce(into: Set<Int>()) { $0.formUnion($1.gateway?.names ?? []) }
        for (name, push) in self.pushes where push.isRead && !kept.contains(name) {
            if push.isRowRolledBack { self.pushes[name]?.isRowExcused = true }
            guard !stored.contains(name) else { continue }
            if push.isRolledBack || isKill && !push.isDurable {
                if !push.isExcused, push.isDurable { self.excusedDurable += 1 }
                self.pushes[name]?.isExcused = true
            }
        }
    }

    // MARK: The end

    /// Whether everything that was read is sent and answered.
    var isFinished: Bool {
        self.pushes.values.allSatisfy { $0.isExcused || $0.isRead && !$0.sends.isEmpty && !$0.answeredTo.isEmpty }
    }

    func check() {
        for (name, push) in self.pushes.sorted(by: { $0.key < $1.key }) where push.isRead {
            if push.sends.isEmpty {
                if !push.isExcused { self.fail("\(name) is lost\(push.isDurable ? ", although it was durable" : "")") }
                continue
            }
            if push.answeredTo.isEmpty, !push.isExcused { self.fail("\(name) is not finished") }
            if push.isBad, !self.world.postgres.tables.rejections.contains(name), !push.isRowExcused, !push.isExcused {
                self.fail("the rejection of \(name) is told nowhere")
            }
            self.checkDoubles(name, push)
        }
        self.checkOwner()
    }

    private func checkDoubles(_ name: Int, _ push: Push) {
        for (index, send) in push.sends.enumerated().dropFirst() {
            let earlier = push.sends[..<index]
            if push.takenOverInVain.contains(send.gateway.take), !push.wasAnswerLost {
                self.fail("\(send.gateway.process.name) sent \(name), although its answer was handed over")
            } else if send.isFromMemory || earlier.contains(where: \.isFromMemory) {
                self.fromMemory += 1
            } else if earlier.contains(where: { $0.gateway === send.gateway }) {
                self.fail("\(send.gateway.process.name) sent \(name) twice")
            } else if send.isLate || earlier.contains(where: \.isLate) {
                // Counted by `afterCheck`.
            } else if push.wasAnswerLost {
                self.afterFailover += 1
            } else if earlier.contains(where: { push.answeredTo.contains($0.gateway.take) }) {
                self.fail("\(name) was sent again although its answer was durable")
            } else {
                self.inFlight += 1
            }
        }
    }

    private func checkOwner() {
        let owners = self.world.processes.filter { $0.isAlive && $0.gateway?.isOpen == true && $0.hasRight }
        if owners.count != 1 || self.world.postgres.lock == nil {
            self.fail("\(owners.count) owners at the end\(self.world.postgres.lock == nil ? ", and no lock" : "")")
        }
    }
}
