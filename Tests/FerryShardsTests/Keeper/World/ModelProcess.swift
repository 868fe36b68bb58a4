import FerryMachine
import NIOCore

@testable import FerryGateway
@testable import FerryShards

/// A process: the look, and an owner for each shard that it has.
final class ModelProcess {
    /// The threads of a process. Each keeps the order of its work; they run in any order after a pause.
    enum Thread: Int, CaseIterable { case timer, session, upstream, clients }

    unowned let world: ShardWorld
    let name: String
    let link: ModelLink
    /// What the local clock shows in addition, and what it showed at the boot.
    private var clock = TimeAmount.zero
    private var clockAtBoot = TimeAmount.zero
    private(set) var isAlive = false
    private(set) var isPaused = false
    /// Whether a pause has stopped the clock, too. The right cannot stop such a process.
    private(set) var wasFrozen = false
    private var pausedAt = ShardWorld.start
    private var life = 0
    private var deferred: [(Thread, () -> Void)] = []
    private var readyAt: [NIODeadline] = Thread.allCases.map { _ in ShardWorld.start }

    private var look: ShardLook
    private var isLooking = false
    private var lookStart = 0
    private var owners: [ModelOwner] = []
    /// Every owner of this process. Sessions and gateways refer to them.
    private var pastOwners: [ModelOwner] = []
    private(set) var isEnding = false

    init(_ world: ShardWorld, name: String) {
        self.world = world
        self.name = name
        self.link = ModelLink(world)
        self.look = ShardLook(node: name, rules: world.rules.keeper)
    }

    var now: NIODeadline { self.world.now + self.clock }

    func set(clock: TimeAmount) {
        self.clock = clock
        self.clockAtBoot = clock
    }

    var moment: Moment {
        let seconds = (self.now - self.clockAtBoot - ShardWorld.start).nanoseconds / 1_000_000_000
        return Moment(monotonic: self.now, epochSeconds: ShardWorld.startSeconds + UInt32(clamping: seconds))
    }

    /// The run of the operating system. A process that starts again is in the same one.
    var boot: BootIdentifier? {
        BootIdentifier(Array(repeating: self.name.utf8.last ?? 0, count: BootIdentifier.length))
    }

    /// The gateways, in the order of their takes.
    var gateways: [any WorldGateway] { self.owners.compactMap(\.gateway) }

    /// The gateway of a shard, if a new connection reaches it.
    func listener(of shard: Int) -> (any WorldGateway)? {
        guard self.isAlive, !self.isPaused else { return nil }
        return self.owners.first { $0.shard == shard && $0.isOpen }?.gateway
    }

    // MARK: Life

    func start() {
        self.life += 1
        self.isAlive = true
        self.isPaused = false
        self.isEnding = false
        self.wasFrozen = false
        self.deferred = []
        self.look = ShardLook(node: self.name, rules: self.world.rules.keeper)
        self.isLooking = false
        self.run(after: self.world.time(0...500_000), on: .timer) { self.lookAgain() }
    }

    func kill(isMachineGone: Bool) {
        guard self.isAlive else { return }
        self.world.note("\(self.name) is killed")
        self.isAlive = false
        self.life += 1
        for owner in self.owners { owner.kill(isMachineGone: isMachineGone) }
        self.owners = []
        self.world.account.forgot(isKill: true)
    }

    /// - Parameter isFrozen: whether its clocks stand still, as those of a virtual machine may.
    func pause(for time: TimeAmount, isFrozen: Bool) {
        guard self.isAlive, !self.isPaused else { return }
        self.world.note("\(self.name) is paused")
        self.isPaused = true
        let life = self.life
        self.world.after(time) {
            guard self.life == life else { return }
            if isFrozen {
                self.clock = self.clock - time
                self.wasFrozen = true
            }
            self.world.note("\(self.name) wakes")
            self.isPaused = false
            for thread in Thread.allCases {
                self.readyAt[thread.rawValue] = self.world.now + self.world.time(0...20_000)
            }
            let deferred = self.deferred
            self.deferred = []
            for (thread, body) in deferred { self.run(after: .zero, on: thread, body) }
        }
    }

    func terminate() {
        guard self.isAlive, !self.isEnding else { return }
        self.world.note("\(self.name) gets SIGTERM")
        self.run(after: .zero, on: .timer) {
            self.isEnding = true
            for owner in self.owners { owner.end() }
            if self.owners.isEmpty { self.exit() }
        }
    }

    /// A firewall forgets the sessions.
    func forgetSessions() { for owner in self.owners { owner.forgetSession() } }

    /// An owner has ended.
    func ended(_ owner: ModelOwner) {
        self.owners.removeAll { $0 === owner }
        if self.isEnding, self.owners.isEmpty { self.exit() }
    }

    private func exit() {
        self.world.note("\(self.name) ends")
        self.isAlive = false
        self.life += 1
    }

    func run(after time: TimeAmount, on thread: Thread, _ body: @escaping () -> Void) {
        let life = self.life
        self.world.after(time) { self.perform(life, thread, body) }
    }

    private func perform(_ life: Int, _ thread: Thread, _ body: @escaping () -> Void) {
        guard self.life == life, self.isAlive else { return }
        if self.isPaused {
            self.deferred.append((thread, body))
        } else if self.world.now < self.readyAt[thread.rawValue] {
            self.world.at(self.readyAt[thread.rawValue]) { self.perform(life, thread, body) }
        } else {
            body()
        }
    }

    // MARK: Looks

    private func lookAgain() {
        self.run(after: self.world.rules.keeper.look, on: .timer) { self.lookAgain() }
        if self.isLooking { self.look.sessionEnded() }
        guard !self.isEnding, self.owners.count < self.world.shards else { return }
        self.isLooking = true
        let sentAt = self.now
        self.world.after(self.world.time(300...2000)) {
            guard self.world.postgres.isUp, self.link.isWhole else { return }
            let rows = self.world.postgres.look()
            let owners = self.world.postgres.tables.shards.map(\.owner)
            let start = self.world.postgres.starts
            self.run(after: self.world.time(100...1000), on: .session) {
                self.isLooking = false
                if self.lookStart != start { self.look.sessionEnded() }
                self.lookStart = start
                self.looked(rows, owners: owners, sentAt: sentAt)
            }
        }
    }

    private func looked(_ rows: [FreeShard], owners: [String], sentAt: NIODeadline) {
        guard !self.isEnding else { return }
        let kept = Set(self.owners.map(\.shard))
        var takes = self.look.looked(rows, sentAt: sentAt, kept: kept, now: self.now)
        if !self.world.rules.everybodyWaits {
            takes = rows.filter { owners[$0.shard] == self.name && !kept.contains($0.shard) }
        }
        for take in takes {
            let owner = ModelOwner(self, take)
            self.owners.append(owner)
            self.pastOwners.append(owner)
            owner.feed(.timePassed)
        }
    }
}
