import DequeModule
import NIOCore

@testable import FerryShards

/// A process: the look, the real keeper and a model of a gateway.
final class ModelProcess {
    /// The threads of a process. Each keeps the order of its work; they run in any order after a pause.
    enum Thread: Int, CaseIterable { case timer, session, upstream, clients }

    unowned let world: ShardWorld
    let name: String
    let link: ModelLink
    /// What the local clock shows in addition.
    var clock = TimeAmount.zero
    /// The number of the last take.
    var takes = 0

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
    private(set) var keeper: ShardKeeper?
    private(set) var gateway: ModelGateway?
    private var session: ModelSession?
    private var timerAt = NIODeadline.distantFuture
    private(set) var right = ShardRight.none
    private var isEnding = false

    init(_ world: ShardWorld, name: String) {
        self.world = world
        self.name = name
        self.link = ModelLink(world)
        self.look = ShardLook(node: name, rules: world.rules.keeper)
    }

    var now: NIODeadline { self.world.now + self.clock }

    /// Whether a send is allowed, by the local clock.
    var hasRight: Bool {
        switch self.right {
        case .until(let end): self.now < end
        case .fromMemory: true
        }
    }

    /// The gateway, if a new connection reaches it.
    var listener: ModelGateway? {
        guard self.isAlive, !self.isPaused, self.hasRight, let gateway, gateway.isOpen else { return nil }
        return gateway
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
        self.session?.processEnded(isMachineGone: isMachineGone)
        self.session = nil
        self.keeper = nil
        self.gateway = nil
        self.right = .none
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
            if let gateway = self.gateway {
                gateway.drain()
            } else if self.keeper != nil {
                self.feed(.finish(isClean: true))
            } else {
                self.exit()
            }
        }
    }

    /// A firewall forgets the session.
    func forgetSession() { self.session?.isForgotten = true }

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
        guard self.keeper == nil, !self.isEnding else { return }
        self.isLooking = true
        let sentAt = self.now
        self.world.after(self.world.time(300...2000)) {
            guard self.world.postgres.isUp, self.link.isWhole else { return }
            let rows = self.world.postgres.look()
            let owner = self.world.postgres.tables.owner
            let start = self.world.postgres.starts
            self.run(after: self.world.time(100...1000), on: .session) {
                self.isLooking = false
                if self.lookStart != start { self.look.sessionEnded() }
                self.lookStart = start
                self.looked(rows, owner: owner, sentAt: sentAt)
            }
        }
    }

    private func looked(_ rows: [FreeShard], owner: String, sentAt: NIODeadline) {
        guard self.keeper == nil, !self.isEnding else { return }
        var takes = self.look.looked(rows, sentAt: sentAt, kept: [], now: self.now)
        if !self.world.rules.everybodyWaits, owner == self.name { takes = rows }
        guard let take = takes.first else { return }
        let world = self.world
        let numbers = TermMaker(seed: world.random())
        self.keeper = ShardKeeper(
            shard: take.shard,
            seen: take.term,
            node: self.name,
            away: world.rules.away,
            rules: world.rules.keeper,
            makeTerm: { numbers.next() },
            now: self.now
        )
        self.timerAt = .distantFuture
        self.feed(.timePassed)
    }

    // MARK: Keeper

    private var inputs: Deque<ShardInput> = []
    private var isFeeding = false

    func feed(_ input: ShardInput) {
        self.inputs.append(input)
        guard !self.isFeeding else { return }
        self.isFeeding = true
        while let input = self.inputs.popFirst() {
            for action in self.keeper?.handle(input, now: self.now) ?? [] {
                if self.world.tracesAll { self.world.note("\(self.name) \(input) > \(action)") }
                self.carryOut(action)
            }
        }
        self.isFeeding = false
        self.setTimer()
    }

    private func setTimer() {
        guard let deadline = self.keeper?.deadline, deadline < self.timerAt else { return }
        self.timerAt = deadline
        self.run(after: max(.zero, deadline - self.now), on: .timer) {
            guard self.timerAt == deadline else { return }
            self.timerAt = .distantFuture
            if let due = self.keeper?.deadline, due <= self.now { return self.feed(.timePassed) }
            self.setTimer()
        }
    }

    private func carryOut(_ action: ShardAction) {
        switch action {
        case .connect(let name):
            let session = ModelSession(self, name)
            self.session = session
            session.open()
        case .close:
            self.session?.close()
            self.session = nil
        case .send(let statement, _):
            self.session?.send(statement)
        case .owns(let taken):
            let gateway = ModelGateway(self, taken, take: self.takes)
            self.gateway = gateway
            gateway.recover()
        case .late(let segments):
            self.gateway?.late(segments)
        case .answer(let number, let answer):
            self.gateway?.answered(commit: number, answer)
        case .right(let right):
            self.right = right
            self.gateway?.rightChanged()
        case .wanted:
            self.gateway?.drain()
        case .fenced:
            self.world.note("\(self.name) hears that it is fenced")
            guard self.world.rules.handsOver else {
                self.keeper = nil
                self.session?.close()
                return self.ended()
            }
            self.gateway?.fence()
        case .trouble:
            break
        case .over(let ending):
            self.world.note("\(self.name): \(ending)")
            self.keeper = nil
            self.ended()
        }
    }

    private func ended() {
        self.session = nil
        self.gateway = nil
        self.right = .none
        self.world.account.forgot(isKill: false)
        if self.isEnding { self.exit() }
    }
}

/// Terms from a seed.
final class TermMaker: @unchecked Sendable {
    // One world runs on one thread.
    private var state: UInt64

    init(seed: UInt64) { self.state = seed }

    func next() -> ShardTerm {
        self.state = self.state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return ShardTerm("t" + String(self.state, radix: 16))
    }
}
