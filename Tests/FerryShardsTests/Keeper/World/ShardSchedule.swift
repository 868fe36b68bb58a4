import NIOCore

@testable import FerryShards

/// A fault of a schedule. Times are in milliseconds.
enum ShardFault: CustomStringConvertible {
    /// nil: the process does not start again.
    case kill(Int, restartAfter: Int?, isMachineGone: Bool = false)
    case pause(Int, for: Int, isFrozen: Bool = false)
    case cut(Int, for: Int, up: Bool = true, down: Bool = true)
    case endSessions
    /// A firewall forgets the sessions.
    case forgetSession(Int)
    case crash(for: Int, losing: Int? = nil, isSilent: Bool = false)
    case slowDisk(for: Int, commit: Int)
    /// PostgreSQL refuses one of four commits.
    case refusals(for: Int)
    case terminate(Int, restartAfter: Int?)
    case move(to: Int)
    /// APNs takes no request.
    case stall(for: Int)

    /// The process that owns the first shard when an index is first used, and the next one.
    static let owner = -1
    static let other = -2

    var description: String {
        switch self {
        case .kill(let index, let after, let isGone): "kill \(index), restart \(after as Any), machine gone \(isGone)"
        case .pause(let index, let time, let isFrozen): "pause \(index) for \(time), frozen \(isFrozen)"
        case .cut(let index, let time, let up, let down): "cut \(index) for \(time), up \(up), down \(down)"
        case .endSessions: "end all sessions"
        case .forgetSession(let index): "forget the session of \(index)"
        case .crash(let time, let loss, let isSilent): "crash for \(time), losing \(loss as Any), silent \(isSilent)"
        case .slowDisk(let time, let commit): "slow disk for \(time), commits take \(commit)"
        case .refusals(let time): "refusals for \(time)"
        case .terminate(let index, let after): "SIGTERM \(index), restart \(after as Any)"
        case .move(let index): "move to \(index)"
        case .stall(let time): "APNs takes nothing for \(time)"
        }
    }

    /// When everything is as before, after its beginning.
    var length: Int {
        switch self {
        case .kill(_, let after, _), .terminate(_, let after): after ?? 0
        case .pause(_, let time, _), .cut(_, let time, _, _), .crash(let time, _, _), .slowDisk(let time, _): time
        case .stall(let time), .refusals(let time): time
        case .endSessions, .forgetSession, .move: 0
        }
    }
}

extension ShardWorld {
    func cause(_ fault: ShardFault, at milliseconds: Int) {
        if case .crash(_, _?, _) = fault { self.postgres.losesCommits = true }
        self.at(Self.start + .milliseconds(Int64(milliseconds))) {
            self.note("\(fault)")
            self.cause(fault)
        }
    }

    private func cause(_ fault: ShardFault) {
        switch fault {
        case .kill(let index, let restartAfter, let isMachineGone):
            let process = self.process(index)
            process.kill(isMachineGone: isMachineGone)
            if let restartAfter {
                self.after(.milliseconds(Int64(restartAfter))) { if !process.isAlive { process.start() } }
            }
        case .pause(let index, let time, let isFrozen):
            self.process(index).pause(for: .milliseconds(Int64(time)), isFrozen: isFrozen)
        case .cut(let index, let time, let up, let down):
            let link = self.process(index).link
            if up { link.cut(.up) }
            if down { link.cut(.down) }
            self.after(.milliseconds(Int64(time))) { link.heal() }
        case .endSessions: self.postgres.terminateAll()
        case .forgetSession(let index): self.process(index).forgetSessions()
        case .crash(let time, let loss, let isSilent):
            let loss = loss.map { TimeAmount.milliseconds(Int64($0)) }
            self.postgres.crash(for: .milliseconds(Int64(time)), losing: loss, isSilent: isSilent)
        case .slowDisk(let time, let commit):
            self.postgres.commitTime = Int64(commit * 500)...Int64(commit * 1000)
            self.after(.milliseconds(Int64(time))) { self.postgres.commitTime = ModelPostgres.usualTime }
        case .refusals(let time):
            self.postgres.refusesUntil = max(self.postgres.refusesUntil, self.now + .milliseconds(Int64(time)))
        case .terminate(let index, let restartAfter):
            let process = self.process(index)
            process.terminate()
            if let restartAfter {
                self.after(.milliseconds(Int64(restartAfter))) { if !process.isAlive { process.start() } }
            }
        case .move(let index):
            self.postgres.move(self.number(0...self.shards - 1), to: self.process(index).name)
        case .stall(let time): self.stalledUntil = max(self.stalledUntil, self.now + .milliseconds(Int64(time)))
        }
    }

    private func process(_ index: Int) -> ModelProcess {
        if index >= 0 { return self.processes[index] }
        let first = self.processes.firstIndex { process in process.gateways.contains { $0.owner.shard == 0 } }
        let owner = self.firstOwner ?? first ?? 0
        self.firstOwner = owner
        return self.processes[index == ShardFault.owner ? owner : (owner + 1) % self.processes.count]
    }

    /// Pushes 110 notifications in 11 s, of which every tenth is bad, and runs until all is quiet.
    func play(_ faults: [(at: Int, ShardFault)], pushes count: Int = 110, every interval: Int = 100) {
        for (time, fault) in faults { self.cause(fault, at: time) }
        let bad = Set(stride(from: self.rules.hasMachine ? 23 : 3, to: count, by: 10))
        self.push(0..<count, bad: bad, every: .milliseconds(Int64(interval)))
        let last = faults.map { $0.at + $0.1.length }.max() ?? 0
        let quiet = Self.start + .milliseconds(Int64(max(last, count * interval)))
        self.run(until: quiet)
        self.run(until: quiet + .seconds(60)) { self.account.isFinished }
        // Time for rows that are written again, for a process that wakes late, and for a take after a machine has gone.
        self.run(until: self.now + .seconds(15))
        self.account.check()
    }
}
