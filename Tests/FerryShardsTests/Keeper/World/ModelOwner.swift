import DequeModule
import NIOCore

@testable import FerryShards

/// The owner of a shard in a process: the real keeper, its session, and a gateway.
final class ModelOwner {
    unowned let process: ModelProcess
    let shard: Int
    /// The number of its take among all.
    var takes = 0
    /// The last term that PostgreSQL gave it.
    var term: ShardTerm?

    private var keeper: ShardKeeper?
    private(set) var gateway: (any WorldGateway)?
    private(set) var right = ShardRight.none
    private var session: ModelSession?
    private var inputs: Deque<ShardInput> = []
    private var isFeeding = false
    private var timerAt = NIODeadline.distantFuture

    init(_ process: ModelProcess, _ free: FreeShard) {
        self.process = process
        self.shard = free.shard
        let terms = TermMaker(seed: process.world.random())
        self.keeper = ShardKeeper(
            shard: free.shard,
            seen: free.term,
            node: process.name,
            away: process.world.rules.away,
            rules: process.world.rules.keeper,
            makeTerm: { terms.next() },
            now: process.now
        )
    }

    private var world: ShardWorld { self.process.world }

    /// Whether a send is allowed, by the local clock.
    var hasRight: Bool {
        switch self.right {
        case .until(let end): self.process.now < end
        case .fromMemory: true
        }
    }

    /// Whether error responses may be written.
    var mayTell: Bool { self.right != .fromMemory && self.hasRight }

    /// Whether the shard's port is open.
    var isOpen: Bool { self.hasRight && self.gateway?.isOpen == true }

    // MARK: Inputs

    func feed(_ input: ShardInput) {
        self.inputs.append(input)
        guard !self.isFeeding else { return }
        self.isFeeding = true
        while let input = self.inputs.popFirst() {
            for action in self.keeper?.handle(input, now: self.process.now) ?? [] {
                if self.world.tracesAll { self.world.note("\(self.process.name) \(self.shard): \(input) > \(action)") }
                self.carryOut(action)
            }
        }
        self.isFeeding = false
        self.setTimer()
    }

    private func setTimer() {
        guard let deadline = self.keeper?.deadline, deadline < self.timerAt else { return }
        self.timerAt = deadline
        self.process.run(after: max(.zero, deadline - self.process.now), on: .timer) {
            guard self.timerAt == deadline else { return }
            self.timerAt = .distantFuture
            if let due = self.keeper?.deadline, due <= self.process.now { return self.feed(.timePassed) }
            self.setTimer()
        }
    }

    // MARK: Actions

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
            let gateway: any WorldGateway =
                self.world.rules.hasMachine
                ? MachineGateway(self, taken, take: self.takes) : ModelGateway(self, taken, take: self.takes)
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
            self.world.note("\(self.process.name) hears that it is fenced from shard \(self.shard)")
            guard self.world.rules.handsOver else {
                self.session?.close()
                return self.ended()
            }
            self.gateway?.fence()
        case .trouble:
            break
        case .over(let ending):
            self.world.note("\(self.process.name), shard \(self.shard): \(ending)")
            self.ended()
        }
    }

    // MARK: The end

    /// Begins to give the shard up.
    func end() {
        if let gateway { gateway.drain() } else { self.feed(.finish(isClean: true)) }
    }

    private func ended() {
        self.forget()
        self.process.ended(self)
    }

    func kill(isMachineGone: Bool) {
        self.session?.processEnded(isMachineGone: isMachineGone)
        self.forget()
    }

    private func forget() {
        self.gateway?.killed()
        self.keeper = nil
        self.session = nil
        self.gateway = nil
        self.right = .none
    }

    /// A firewall forgets the session.
    func forgetSession() { self.session?.isForgotten = true }
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
