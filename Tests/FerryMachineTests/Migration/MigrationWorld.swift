import FerryCore
import FerryMachine
import NIOCore

/// A migrating client, the peers of its two sides, and the network between them, in memory.
struct MigrationWorld: ~Copyable {
    typealias Client = MigratingClient<ModelSide, ModelSide>

    /// What may happen beside submissions, answers and moves.
    struct Trouble {
        /// Peers go and come back.
        var peersFail = false
        /// Peers refuse the provider for a while.
        var peersRefuse = false
        /// Connections are lost, and peers discard what they read.
        var connectionsFail = false
        /// Some payloads fit one side only.
        var hasLongPayloads = false
        /// The rule stays as it is.
        var keepsRule = false
        /// One peer refuses the provider from some time on, and for ever.
        var peerRefusesForGood = false

        static let none = Trouble()

        var isNone: Bool { self.keepsOrder && !self.peerRefusesForGood }

        /// Whether each peer gets a device's notifications in order.
        var keepsOrder: Bool {
            !self.peersFail && !self.peersRefuse && !self.connectionsFail && !self.hasLongPayloads
        }
    }

    /// What a peer did with a notification that it read.
    struct Reading: Equatable {
        var tag: UInt64
        var side: ProviderSide
        var verdict: ModelSide.Verdict
    }

    private struct Peer {
        var isUp = true
        var refuses = false
        /// What was written on each open connection and not read.
        var unread: [ConnectionID: [UInt64]] = [:]
        /// The answers on their way back.
        var answers: [ConnectionID: ByteBuffer] = [:]
    }

    static let devices = 24

    let trouble: Trouble
    let options: MigrationOptions
    var client: Client
    var generator: SplitMix64
    var now = Moment(monotonic: .uptimeNanoseconds(1_000_000_000), epochSeconds: 1_000_000)
    private var peers = BothSides(Peer())
    private var dials: [ConnectionID] = []
    private var open: [ConnectionID] = []
    private var given = GivenOutcomes()
    private var isShuttingDown = false

    /// The device of each tag.
    private(set) var device: [UInt64: Int] = [:]
    private(set) var awaited: Set<UInt64> = []
    private(set) var outcomes: [UInt64: [Outcome]] = [:]
    private(set) var readings: [Reading] = []
    private(set) var events: [ProviderEvent] = []
    let bad: Set<Int>

    init(_ trouble: Trouble, seed: UInt64) {
        var generator = SplitMix64(seed: seed)
        var options = MigrationOptions(
            rule: MigrationRule(share: [0, 1, 50, 100].randomElement(using: &generator) ?? 0)
        )
        if !trouble.isNone, Int.random(in: 0..<4, using: &generator) > 0 {
            options.fallback = MigrationOptions.Fallback()
            options.fallback?.downAfter = .milliseconds(300)
            options.fallback?.trialInterval = .seconds(1)
        }
        if Bool.random(using: &generator) { options.deadline = .seconds(Int64.random(in: 1...20, using: &generator)) }
        options.sendsElsewhere = Int.random(in: 0..<4, using: &generator) > 0
        func side(_ payloadLimit: Int) -> ModelSide {
            ModelSide(
                payloadLimit: payloadLimit,
                resends: trouble.isNone || Bool.random(using: &generator),
                window: [1, 3, 1000].randomElement(using: &generator) ?? 1,
                deadline: options.deadline.map { TimeAmount($0) }
            )
        }
        self.client = Client(options, binary: side(10), http2: side(20))
        self.trouble = trouble
        self.options = options
        self.bad = Set((0..<Self.devices).filter { _ in Int.random(in: 0..<10, using: &generator) == 0 })
        self.generator = generator
    }

    private mutating func chance(_ one: Int) -> Bool { Int.random(in: 0..<one, using: &self.generator) == 0 }

    // MARK: Steps of a schedule

    mutating func step() {
        switch Int.random(in: 0..<12, using: &self.generator) {
        case 0, 1: self.submit()
        case 2: self.changeRule()
        case 3: self.withdraw()
        case 4: self.pass(.milliseconds(Int64.random(in: 1...400, using: &self.generator)))
        case 5 where self.chance(3): self.client.isPaused.toggle()
        case 6: self.makeTrouble()
        default: self.progress()
        }
        self.pump()
    }

    private mutating func submit() {
        guard !self.isShuttingDown else { return }
        var batch = PushBatch()
        for _ in 0..<Int.random(in: 1...8, using: &self.generator) {
            let tag = UInt64(self.device.count)
            let device = Int.random(in: 0..<Self.devices, using: &self.generator)
            let length = self.trouble.hasLongPayloads ? [2, 15, 30].randomElement(using: &self.generator) ?? 2 : 2
            let isAwaited = self.chance(5)
            let payload = "{" + String(repeating: " ", count: length - 2) + "}"
            guard let token = Self.token(of: device),
                let notification = try? PushNotification(json: Array(payload.utf8)),
                (try? batch.append(
                    notification,
                    to: .device(token),
                    tag: tag,
                    fields: isAwaited ? .awaited : BatchEntry.Fields()
                )) != nil
            else { continue }
            self.device[tag] = device
            if isAwaited { self.awaited.insert(tag) }
        }
        self.client.submit(batch.takeFirst(batch.count), now: self.now)
    }

    private mutating func changeRule() {
        if self.trouble.keepsRule { return }
        var rule = self.client.router.rule
        rule.share = [0, 1, 10, 50, 100].randomElement(using: &self.generator) ?? 0
        if self.chance(4), let token = try? DeviceToken(Array(repeating: 7, count: 32)) {
            rule.devices[token] = ProviderSide.allCases.randomElement(using: &self.generator)
        }
        self.client.change(rule, now: self.now)
    }

    private mutating func withdraw() {
        guard let tag = self.awaited.sorted().randomElement(using: &self.generator) else { return }
        self.client.withdraw([tag], now: self.now)
    }

    mutating func pass(_ time: TimeAmount) {
        self.now.monotonic = self.now.monotonic + time
        if let deadline = self.client.nextDeadline, deadline <= self.now.monotonic { self.client.tick(now: self.now) }
    }

    private mutating func makeTrouble() {
        let side = ProviderSide.allCases.randomElement(using: &self.generator) ?? .binary
        if self.trouble.peersFail, self.chance(3) {
            self.peers[side].isUp.toggle()
            if !self.peers[side].isUp {
                for id in self.open where Client.side(of: id) == side { self.lose(id) }
            }
        }
        if self.trouble.peersRefuse, self.chance(3) { self.peers[side].refuses.toggle() }
        if self.trouble.peerRefusesForGood { self.peers.http2.refuses = true }
        if self.trouble.connectionsFail, self.chance(2), let id = self.open.randomElement(using: &self.generator) {
            self.lose(id)
        }
    }

    private mutating func lose(_ id: ConnectionID) {
        self.forget(id)
        let error = ProviderError(.connectionLost, "The connection is gone.")
        self.client.ended(id, .lost(error), handed: .max, now: self.now)
    }

    private mutating func forget(_ id: ConnectionID) {
        self.open.removeAll { $0 == id }
        self.dials.removeAll { $0 == id }
        self.peers[Client.side(of: id)].unread[id] = nil
        self.peers[Client.side(of: id)].answers[id] = nil
    }

    /// The network or a peer does something that is due.
    mutating func progress() {
        if self.chance(2), let id = self.dials.first {
            self.dials.removeFirst()
            guard self.peers[Client.side(of: id)].isUp else {
                let error = ProviderError(.connectFailed, "Nobody is there.")
                return self.client.ended(id, .notConnected(error), handed: 0, now: self.now)
            }
            self.open.append(id)
            self.client.connected(id, now: self.now)
        } else if let id = self.open.randomElement(using: &self.generator) {
            if self.chance(2) { self.read(on: id) } else { self.answer(on: id) }
        }
    }

    private mutating func read(on id: ConnectionID) {
        let side = Client.side(of: id)
        let unread = self.peers[side].unread[id] ?? []
        let count = min(unread.count, Int.random(in: 1...4, using: &self.generator))
        for tag in unread.prefix(count) {
            let verdict = self.verdict(on: tag, side)
            self.readings.append(Reading(tag: tag, side: side, verdict: verdict))
            var answers = self.peers[side].answers[id] ?? ByteBuffer()
            answers.writeInteger(tag, endianness: .little)
            answers.writeInteger(verdict.rawValue)
            self.peers[side].answers[id] = answers
        }
        self.peers[side].unread[id] = Array(unread.dropFirst(count))
    }

    private mutating func verdict(on tag: UInt64, _ side: ProviderSide) -> ModelSide.Verdict {
        if self.peers[side].refuses { return .refused }
        if let device = self.device[tag], self.bad.contains(device) { return .rejected }
        return self.trouble.connectionsFail && self.chance(10) ? .discarded : .accepted
    }

    private mutating func answer(on id: ConnectionID) {
        guard let answers = self.peers[Client.side(of: id)].answers.updateValue(ByteBuffer(), forKey: id) else {
            return
        }
        self.client.received(id, answers, handed: .max, now: self.now)
    }

    /// What the owner of a machine does in a turn of its loop.
    mutating func pump() {
        var hasWritten = true
        while hasWritten {
            for step in self.client.takeSteps() {
                switch step {
                case .dial(let id): self.dials.append(id)
                case .close(let id), .finish(let id): self.forget(id)
                case .sample, .refused: break
                }
            }
            hasWritten = false
            for id in self.open {
                var buffer = ByteBuffer()
                guard self.client.write(id, into: &buffer, atMost: 64, now: self.now) else { continue }
                hasWritten = true
                while let tag: UInt64 = buffer.readInteger(endianness: .little) {
                    self.peers[Client.side(of: id)].unread[id, default: []].append(tag)
                }
            }
            self.events += self.client.takeEvents()
            self.given.exchange(with: &self.client.outcomes)
            for record in self.given.records + self.given.awaited {
                self.outcomes[record.tag.rawValue, default: []].append(record.outcome)
            }
            self.given.removeAll()
        }
    }

    // MARK: The end

    /// Ends all trouble, and lets everything get its outcome. Returns whether that took a bounded number of steps.
    mutating func finish(abandoning: Bool) -> Bool {
        for side in ProviderSide.allCases {
            self.peers[side].isUp = true
            self.peers[side].refuses = self.trouble.peerRefusesForGood && self.peers[side].refuses
        }
        self.client.isPaused = false
        self.isShuttingDown = true
        if abandoning {
            self.client.abandon(undelivered: .shutDown, uncertain: .shutDown, handed: { _ in .max }, now: self.now)
        } else {
            self.client.shutDown(proof: .silence, now: self.now)
        }
        self.pump()
        for step in 0..<20_000 where !self.client.isFinished {
            if step.isMultiple(of: 10) { self.pass(.milliseconds(50)) }
            self.progress()
            self.pump()
        }
        return self.client.isFinished
    }

    /// Returns the first broken promise; nil if all were kept.
    func fault() -> String? {
        let readingsByTag = Dictionary(grouping: self.readings, by: \.tag)
        for (tag, device) in self.device {
            let outcomes = self.outcomes[tag] ?? []
            guard outcomes.count == 1, let outcome = outcomes.first else {
                return "\(tag) has the outcomes \(outcomes)"
            }
            let readings = readingsByTag[tag] ?? []
            let deliveries = readings.filter { $0.verdict == .accepted }
            switch outcome {
            case .accepted where deliveries.isEmpty: return "\(tag) is accepted, and was not delivered: \(readings)"
            case .undelivered where !deliveries.isEmpty: return "\(tag) is \(outcome), and was delivered: \(readings)"
            case .rejected(let rejection) where rejection.origin == .apns && !deliveries.isEmpty:
                return "\(tag) of device \(device) is rejected, and was delivered: \(readings)"
            default: break
            }
            if Set(deliveries.map(\.side)).count > 1 { return "\(tag) was delivered over both sides: \(readings)" }
            // Without moves only a fallback takes a notification from the side of its device, and only once. One that was
            // submitted while that side was down may have been on the other side before.
            let home = self.home(of: device)
            let changes = zip(readings, readings.dropFirst()).count { $0.side == home && $1.side != home }
            if self.trouble.keepsRule, changes > 1 { return "\(tag) went over more than once: \(readings)" }
            if self.trouble.isNone, deliveries.count > 1 { return "\(tag) was delivered twice: \(readings)" }
        }
        if self.outcomes.count != self.device.count { return "there are outcomes of nothing" }
        return self.orderFault() ?? self.reportFault()
    }

    /// The side that the first rule gives a device.
    private func home(of device: Int) -> ProviderSide? {
        Self.token(of: device).map { MigrationRule.position(of: $0) < self.options.rule.threshold ? .http2 : .binary }
    }

    private static func token(of device: Int) -> DeviceToken? {
        try? DeviceToken(Array(repeating: UInt8(device + 1), count: 32))
    }

    /// The sides that were down at some time.
    private var sidesDown: Set<ProviderSide> {
        Set(self.events.compactMap { if case .migration(.down(let side, _)) = $0 { side } else { nil } })
    }

    /// The order of a device's notifications. What waits on a side that it went over to, and that is down as well, holds up
    /// nothing that came later.
    private func orderFault() -> String? {
        guard self.trouble.keepsOrder, self.sidesDown.count < 2 else { return nil }
        var last: [Int: UInt64] = [:]
        for reading in self.readings where reading.verdict != .refused {
            guard let device = self.device[reading.tag] else { return "\(reading.tag) came from nowhere" }
            if let before = last[device], before > reading.tag {
                return "device \(device) got \(reading.tag) after \(before): \(self.readings)"
            }
            last[device] = reading.tag
        }
        return nil
    }

    private func reportFault() -> String? {
        let report = self.client.currentReport
        var sum = report.life.binary.outcomes
        sum.add(report.life.http2.outcomes)
        // What ended in front belongs to neither side.
        guard sum.settled <= self.device.count, sum.accepted == self.client.outcomes.counts.accepted else {
            return "the report says \(sum), and there were \(self.client.outcomes.counts)"
        }
        guard report.waiting == 0 else { return "\(report.waiting) still wait" }
        return self.client.outcomes.counts.settled == self.device.count
            ? nil : "the counts are \(self.client.outcomes.counts)"
    }
}
