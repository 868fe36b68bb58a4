import DequeModule
import FerryBinary
import FerryCore
import FerryMachine
import NIOCore

@testable import FerryGateway
@testable import FerryGatewayTestSupport
@testable import FerryShards

/// A gateway with the real machine, and with a provider that asks for the right. It does what `GatewayDriver`, `Gateway` and
/// `PostgresStore` do.
final class MachineGateway: WorldGateway {
    private enum State {
        case recovering
        case running
        case ending(Stage)
        case over
    }

    /// The stages of `Gateway.shutDown(within:)`.
    private enum Stage {
        case clients(until: NIODeadline)
        case store
        case answers(until: NIODeadline)
        case rest
    }

    unowned let owner: ModelOwner
    let take: Int
    private let taken: ShardTaken
    private var state = State.recovering
    private var machine: GatewayMachine?
    private(set) var names: Set<Int> = []
    private var inputs: Deque<(GatewayMachine, Moment) -> Void> = []
    private var timerAt = NIODeadline.distantFuture

    private var wires: [ConnectionID: Wire] = [:]
    private var frames: [ConnectionID: [Frame]] = [:]
    /// The connections that were told status 10.
    private var toldTheEnd: Set<ConnectionID> = []
    /// The frames that the process has, and has not read.
    private var unread: [ConnectionID: [Frame]] = [:]

    private var segments: [UInt64: StoredSegment] = [:]
    /// The commits whose answer the machine waits for, and those that it has from memory.
    private var waiting: Deque<UInt64> = []
    private var served: Set<UInt64> = []
    /// The late segments that came before the recovery was over.
    private var early: [StoredSegment] = []
    private var isTakingOver = false

    /// The requests of the provider.
    private var requests: Deque<Submission> = []
    private var isTurnDue = false
    private var inFlight = 0

    init(_ owner: ModelOwner, _ taken: ShardTaken, take: Int) {
        self.owner = owner
        self.taken = taken
        self.take = take
    }

    var isOpen: Bool {
        guard case .running = self.state, let machine else { return false }
        return self.process.isAlive && self.owner.gateway === self && machine.isOpen(now: self.process.moment)
    }

    // MARK: Bytes

    private static func checksum(_ bytes: [UInt8]) -> UInt64 { UInt64(bytes.count) }

    /// - Parameter name: notes the name of a notification, and returns it.
    static func records(_ segment: StoredSegment, name: (UInt64, Int?) -> Int?) -> [ModelRecord] {
        var records: [ModelRecord] = []
        _ = try? Segment.read(segment, Self.checksum) { record in
            switch record {
            case .read(_, let job, _, _, _, _, let token, _):
                guard let name = name(job.rawValue, Int(Push.name(token))) else { break }
                records.append(ModelRecord(kind: .read, job: job.rawValue, name: name))
            case .answered(let job, _):
                guard let name = name(job.rawValue, nil) else { break }
                records.append(ModelRecord(kind: .answered, job: job.rawValue, name: name))
            default: break
            }
        }
        return records
    }

    /// The name in a line of the list of rejections.
    static func name(ofRejection change: StoreChange) -> Int? {
        let line = String(decoding: change.value ?? [], as: UTF8.self)
        let begin = #""event":"rejected""#
        guard line.contains(begin), let token = line.firstRange(of: #""token":""#) else { return nil }
        return Int(line[token.upperBound...].prefix(8), radix: 16)
    }

    private func key(_ token: some Sequence<UInt8>, isStored: Bool) -> ReplayKey {
        let isKnown = !isStored || self.world.rules.opensEpisodes
        // A key that nothing else has makes an episode that expects nothing.
        return ReplayKey(high: isKnown ? 0 : self.world.random(), low: UInt64(Push.name(token)))
    }

    // MARK: Recovery

    func recover() {
        self.process.run(after: self.world.time(1000...50_000), on: .session) {
            guard case .recovering = self.state else { return }
            guard self.world.postgres.isUp, self.process.link.isWhole else { return self.recover() }
            do {
                try self.start(self.world.postgres.tables)
            } catch {
                self.world.account.fail("\(error)")
            }
        }
    }

    private func start(_ tables: ModelPostgres.Tables) throws {
        let shard = tables.shards[self.owner.shard]
        let now = self.process.moment
        let segments = shard.segments.sorted { $0.key < $1.key }.map { StoredSegment(number: $0.key, bytes: $0.value) }
        var recovery = Recovery(now: now, boot: self.process.boot) { _, token, _ in self.key(token, isStored: true) }
        try recovery.read(segments, Self.checksum)
        for segment in segments { self.note(segment) }
        let first = Journal.firstNumber(of: self.taken.epoch)
        let machine = GatewayMachine(
            Dispatch(
                identities: [ClientIdentity(name: "old", routes: [0])],
                routes: [Route(upstream: 0, topic: Array("com.example.app".utf8), upstreamKey: [1])],
                upstreams: 1,
                node: self.taken.node,
                firstJob: first,
                isStored: true
            ),
            journal: Journal(
                epoch: self.taken.epoch,
                identities: ["old"],
                boot: self.process.boot,
                checksum: Self.checksum
            ),
            isShared: true,
            firstConnection: first
        ) { [unowned self] _, token, _ in
            self.key(token, isStored: self.isTakingOver)
        }
        let rows = { (rows: [[UInt8]: [UInt8]]?) in
            (rows ?? [:]).map { StoreRow(key: $0.key, value: $0.value) }.sorted {
                $0.key.lexicographicallyPrecedes($1.key)
            }
        }
        machine.restoreLetters(rows(shard.rows[.letters]))
        try machine.restore(
            recovery,
            feedback: [],
            habits: rows(tables.habits),
            gates: rows(shard.rows[.gates]),
            identities: ["old"],
            now: now
        )
        self.machine = machine
        self.state = .running
        self.run { $0.timePassed(now: $1) }
        self.late(self.early)
    }

    /// Notes the names and the answers in a stored segment.
    private func note(_ segment: StoredSegment) {
        for record in self.world.records(segment, in: self.owner.shard) {
            self.names.insert(record.name)
            if record.kind == .answered { self.world.account.answerIsDurable(record.name, to: self) }
        }
    }

    func late(_ segments: [StoredSegment]) {
        guard self.machine != nil else { return self.early += segments }
        guard !segments.isEmpty else { return }
        for segment in segments { self.note(segment) }
        self.world.account.tookOver(
            segments.flatMap { self.world.records($0, in: self.owner.shard) },
            by: self
        )
        self.run { machine, now in
            self.isTakingOver = true
            machine.takeOver(segments, now: now)
            self.isTakingOver = false
        }
    }

    // MARK: The machine

    private func run(_ input: @escaping (GatewayMachine, Moment) -> Void) {
        guard let machine else { return }
        self.inputs.append(input)
        guard self.inputs.count == 1 else { return }
        while let input = self.inputs.first {
            let now = self.process.moment
            machine.mayTell = self.owner.mayTell
            machine.putEndOff(now: now)
            input(machine, now)
            var actions = machine.takeActions()
            while !actions.isEmpty {
                for action in actions { self.carryOut(action, of: machine) }
                actions = machine.takeActions()
            }
            self.forward(machine)
            _ = machine.takeLines(now: now)
            _ = machine.takeEvents()
            self.commit(machine, now: now)
            self.inputs.removeFirst()
        }
        self.setTimer(machine)
        self.proceed(machine)
    }

    private func carryOut(_ action: GatewayMachine.Action, of machine: GatewayMachine) {
        guard let wire = self.wires[action.connection] else { return }
        switch action.work {
        case .tell(let response):
            let isLastWord = response.status == .shutdown && machine.isSayingGoodbye
            guard self.owner.mayTell || isLastWord else { return wire.tell(nil) }
            if response.status != .shutdown {
                let named = self.frames[wire.id]?.first { $0.identifier == response.identifier }
                if let named { self.world.account.told(named.push) }
            }
            if response.status == .shutdown {
                self.toldTheEnd.insert(wire.id)
                let followers = self.frames[wire.id]?.drop { $0.identifier != response.identifier }.dropFirst() ?? []
                self.noteFollowers(followers)
            }
            wire.tell(response)
        case .closeOutput: wire.tell(nil)
        case .close:
            self.wires[wire.id] = nil
            wire.closeByGateway(isEnding: machine.endsAt != nil)
        case .read(let isReading): wire.isRead = isReading
        }
    }

    /// Notes notifications that followed one that status 10 named.
    private func noteFollowers(_ frames: some Sequence<Frame>) {
        guard !self.world.postgres.isUp || !self.process.link.isWhole else { return }
        for frame in frames { self.world.account.followedWordWithoutPostgres(frame.push) }
    }

    private func setTimer(_ machine: GatewayMachine) {
        guard let deadline = machine.nextDeadline, deadline < self.timerAt else { return }
        self.timerAt = deadline
        self.process.run(after: max(.milliseconds(1), deadline - self.process.now), on: .timer) {
            guard self.timerAt == deadline else { return }
            self.timerAt = .distantFuture
            self.run { $0.timePassed(now: $1) }
        }
    }

    // MARK: Commits

    private func commit(_ machine: GatewayMachine, now: Moment) {
        if case .over = self.state { return }
        for commit in machine.takeCommits(now: now) {
            self.segments[commit.segment.number] = commit.segment
            self.waiting.append(commit.segment.number)
            self.owner.feed(.commit(commit))
            if self.owner.right == .fromMemory, self.waiting.count == 1 { self.serve() }
        }
    }

    /// Lets the machine forward commits that PostgreSQL does not have.
    private func serve() {
        while let number = self.waiting.popFirst() {
            self.served.insert(number)
            self.run { $0.stored(number, .durable, now: $1) }
        }
    }

    func answered(commit number: UInt64, _ answer: StoreAnswer) {
        let segment = self.segments.removeValue(forKey: number)
        if answer == .durable, let segment {
            for record in self.world.records(segment, in: self.owner.shard) {
                switch record.kind {
                case .read: self.world.account.isDurable(record.name)
                case .answered: self.world.account.answerIsWritten(record.name, by: self)
                }
            }
        }
        guard self.served.remove(number) == nil else { return }
        self.waiting.removeFirst()
        self.run { $0.stored(number, answer, now: $1) }
    }

    // MARK: Clients

    func connect(_ path: Wire.Path, _ address: [UInt8], _ listener: @escaping (Wire.Word) -> Void) -> Wire? {
        guard let machine, machine.isOpen(identity: 0, now: self.process.moment) else { return nil }
        let now = self.process.moment
        let id = machine.connected(identity: 0, address: address, handshake: path.handshake, now: now)
        machine.sampled(id, roundTrip: path.transport)
        let wire = Wire(id, self.world, path, listener: listener)
        self.wires[id] = wire
        self.run { _, _ in }
        return wire
    }

    func read(_ frames: [Frame], _ wire: Wire) {
        self.unread[wire.id, default: []] += frames
        self.process.run(after: .zero, on: .clients) {
            let frames = self.unread.removeValue(forKey: wire.id) ?? []
            guard self.wires[wire.id] === wire, !frames.isEmpty else { return }
            if self.toldTheEnd.contains(wire.id) { self.noteFollowers(frames) }
            for frame in frames {
                let sequence = UInt64(self.frames[wire.id]?.count ?? 0)
                let reader = Job.Reader(connection: wire.id, sequence: sequence)
                self.world.account.read(frame, as: reader, by: self)
                self.frames[wire.id, default: []].append(frame)
                self.names.insert(frame.push.number)
                self.world.note(frame.push.name, "is read by \(self.process.name)")
            }
            let bytes = ByteBuffer(bytes: frames.flatMap(\.bytes))
            self.run { $0.received(wire.id, bytes, now: $1) }
        }
    }

    func ended(_ wire: Wire) {
        self.process.run(after: .zero, on: .clients) {
            guard self.wires[wire.id] === wire else { return }
            self.run { $0.inputEnded(wire.id, now: $1) }
        }
    }

    // MARK: Forwarding

    private func forward(_ machine: GatewayMachine) {
        machine.withBatches(for: 0) { _, batch in
            while let next = batch.popFirst() { self.requests.append(next) }
        }
        _ = machine.takeEndedSides(of: 0)
        self.planTurn()
    }

    func rightChanged() {
        if self.owner.right == .fromMemory { self.serve() }
        self.planTurn()
        // Error responses may wait for the right.
        self.run { _, _ in }
    }

    private func planTurn() {
        guard !self.isTurnDue, !self.requests.isEmpty else { return }
        self.isTurnDue = true
        let wait = max(.zero, self.world.stalledUntil - self.world.now)
        self.process.run(after: wait + self.world.time(0...1000), on: .upstream) { self.turn() }
    }

    /// A turn of the upstream's event loop: one check of the right, and then the writes.
    private func turn() {
        self.isTurnDue = false
        guard self.owner.hasRight || !self.world.rules.checksRight else { return }
        let turn = Array(self.requests.prefix(20))
        self.requests.removeFirst(turn.count)
        self.inFlight += turn.count
        let checkedAt = self.world.now
        let isFromMemory = self.owner.right == .fromMemory
        self.process.run(after: self.world.time(0...300), on: .upstream) {
            for submission in turn { self.send(submission, checkedAt: checkedAt, isFromMemory: isFromMemory) }
            self.planTurn()
        }
    }

    private func send(_ submission: Submission, checkedAt: NIODeadline, isFromMemory: Bool) {
        let name = Int(Push.name(submission.device.bytes))
        let tag = submission.tag
        let reader = self.machine?.dispatch.jobs[JobID(rawValue: tag.rawValue)]?.first
        self.world.account.sent(
            name,
            as: reader.map { (tag.rawValue, $0) },
            by: self,
            checkedAt: checkedAt,
            isFromMemory: isFromMemory
        )
        self.world.note(UInt32(name), "is sent by \(self.process.name) as \(tag.rawValue)")
        self.process.run(after: self.world.time(10_000...300_000), on: .upstream) {
            self.inFlight -= 1
            let isBad = self.world.account.isBad(name)
            let outcome: Outcome =
                isBad
                ? .rejected(Rejection(reason: .badDeviceToken, origin: .apns, status: 400)) : .accepted(.confirmed)
            self.run { $0.settled([OutcomeRecord(tag: tag, outcome: outcome)], now: $1) }
        }
    }

    // MARK: Endings

    func drain() {
        switch self.state {
        case .recovering:
            self.state = .over
            self.owner.feed(.finish(isClean: true))
        case .running:
            self.end()
            self.run { $0.shutDown(now: $1) }
        case .ending, .over: break
        }
    }

    func fence() {
        guard self.machine != nil else {
            self.state = .over
            return self.owner.feed(.finish(isClean: false))
        }
        self.run { $0.handOver(now: $1) }
        guard !self.world.rules.closesLast else { return }
        for (id, wire) in self.wires.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            self.wires[id] = nil
            wire.closeByGateway(isEnding: true)
            self.run { $0.inputEnded(id, now: $1) }
        }
    }

    private func end() {
        self.state = .ending(.clients(until: self.process.now + GatewayBounds.ending))
        self.proceed(after: GatewayBounds.ending)
    }

    private func proceed(after time: TimeAmount) {
        self.process.run(after: time, on: .session) { self.run { _, _ in } }
    }

    private func proceed(_ machine: GatewayMachine) {
        switch self.state {
        case .running where machine.isHandedOver:
            self.end()
            self.run { $0.shutDown(now: $1) }
        case .ending(.clients(let until)) where machine.connectionCount == 0 || until <= self.process.now:
            // The process was stopped, and the machine has begun the end anew.
            if until + GatewayBounds.stopped <= self.process.now, machine.connectionCount > 0 { return self.end() }
            self.state = .ending(.store)
            self.run { $0.sealJournal(now: $1) }
        case .ending(.store) where machine.isStored(through: machine.lastSegment ?? 0):
            let limit = TimeAmount.seconds(2)
            self.state = .ending(.answers(until: self.process.now + limit))
            self.requests = []
            self.proceed(after: limit)
            self.run { machine, _ in machine.abandon() }
        case .ending(.answers(let until)) where self.inFlight == 0 || until <= self.process.now:
            self.state = .ending(.rest)
            self.run { $0.sealJournal(now: $1) }
        case .ending(.rest) where machine.journal?.isIdle != false:
            self.state = .over
            self.owner.feed(.finish(isClean: self.inFlight == 0))
        case .recovering, .running, .ending, .over: break
        }
    }

    func killed() {
        for (_, wire) in self.wires.sorted(by: { $0.key.rawValue < $1.key.rawValue }) { wire.killed() }
        for frame in self.unread.values.joined() { self.world.account.killed(frame.push) }
        self.wires = [:]
        self.unread = [:]
        self.state = .over
        self.machine = nil
    }
}
