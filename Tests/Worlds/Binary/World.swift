import FerryBinary
import FerryCore
import FerryMachine
import Foundation
import NIOCore

/// A client machine, the gateways that it dials, and the network between them, with their own clock.
///
/// Every choice comes from one generator: how much is written, read, acknowledged and delivered at a time, and how long
/// things take. So a seed replays a run exactly.
struct World: ~Copyable {
    struct Schedule {
        var options = BinaryOptions()
        var rules = ReferenceGateway.Rules()
        /// The rules of the first connections, one each. `rules` applies to all later ones.
        var firstRules: [ReferenceGateway.Rules] = []
        /// How long a gateway takes for a response, chosen for each from this range.
        var errorDelays: ClosedRange<TimeAmount> = .milliseconds(20) ... .milliseconds(20)
        /// Whether the first delayed response takes no time.
        var isFirstErrorAtOnce = false
        /// The time from a write until its acknowledgement or response arrives, without the gateway's delay.
        var roundTrip: TimeAmount = .zero
        /// How gateways end connections for their own reasons.
        var trouble: Trouble?
        /// One in this many steps resets a connection; 0: never.
        var resetOneIn = 0
        /// The number of resets after which they stop.
        var resetLimit = 5
        /// One in this many dials fails; 0: never.
        var dialFailsOneIn = 0
        /// The capacity in bytes of the channel between machine and kernel, and of the kernel.
        var channelLimit = 2000
        var kernelLimit = 1000
        /// The peer stops reading for ever after this many notifications.
        var readsOnly: Int?
        /// The proof that the shutdown at the end asks for.
        var proof = Proof.silence
    }

    /// The interruption that each gateway makes from time to time, independent of its input.
    struct Trouble {
        /// The interval between two times; if that is random, the mean interval.
        var every: TimeAmount
        var isByChance = false
        /// The bytes that it sends first; empty: it closes without a response.
        var word: [UInt8] = []
    }

    private struct Link {
        /// A future event of the gateway.
        struct Due {
            var at: NIODeadline
            var event: ReferenceGateway.Event
        }

        var id: ConnectionID
        var gateway: ReferenceGateway
        var isConnected = false
        var connectsAt: NIODeadline
        /// Bytes that the machine has written and the kernel does not have yet.
        var channel: [UInt8] = []
        /// Bytes that the kernel has and the peer has not read. The peer's kernel acknowledges the bytes that it holds.
        var kernel: [UInt8] = []
        var handed: UInt64 = 0
        var acknowledged: UInt64 = 0
        /// Acknowledgements on their way: how much is acknowledged, and when the machine can know it.
        var acknowledgements: [(at: NIODeadline, count: UInt64)] = []
        var produced: UInt64 = 0
        /// The gateway's future events, the next one first.
        var due: [Due] = []
        /// Responses on their way to the machine; nil: the end.
        var arriving: [(at: NIODeadline, bytes: [UInt8]?)] = []
        /// Bytes that the machine may read, in pieces.
        var inbound: [UInt8] = []
        var hasEnded = false
        /// Whether a response arrived that reveals everything that the gateway discarded.
        var hasTold = false
        /// Whether the machine has half-closed the connection, and whether the gateway has read that.
        var isFinished = false
        var isReadToTheEnd = false

        /// Returns whether a response reveals that something was discarded. It does not if the gateway hides
        /// identifiers and may mean itself.
        func tells(_ bytes: [UInt8]) -> Bool {
            guard bytes.count == 6, bytes[0] == 8, bytes[1] != 0 else { return false }
            let isNamed = bytes[2...] != [0, 0, 0, 0] && !self.gateway.rules.inventsIdentifier
            return isNamed || ![1, 10, 255].contains(bytes[1])
        }

        /// When the next event on the link happens without input; nil: never.
        var nextDeadline: NIODeadline? {
            guard self.isConnected else { return self.connectsAt }
            return [self.due.first?.at, self.arriving.first?.at, self.acknowledgements.first?.at].compactMap(\.self)
                .min()
        }
    }

    let schedule: Schedule
    var client: BinaryClient
    private var generator: Choices
    private(set) var now: NIODeadline = .uptimeNanoseconds(1_000_000_000_000)
    private(set) var epochSeconds: UInt32 = 1_700_000_000
    private var links: [Link] = []
    private var resets = 0
    private var dials = 0
    private var hasErred = false
    /// Whether a connection was made or input arrived since time last passed. If so, the machine may have more to
    /// write.
    private var isBusy = false
    /// The number of ticks in a row after which a deadline was still due.
    private var vainTicks = 0
    /// Whether that number grew so large that the client's owner would spin.
    private(set) var isSpinning = false
    private var nextTrouble: NIODeadline?
    /// The future submissions, the next one first.
    private var submissions: [(at: NIODeadline, names: Range<UInt32>)] = []
    /// How often gateways accepted each notification.
    private(set) var accepted: [UInt32: Int] = [:]
    /// The notifications that gateways read and did not accept.
    private(set) var discarded: Set<UInt32> = []
    /// The notifications that gateways read and did not accept, on connections that ended without a response about it.
    private(set) var untold: Set<UInt32> = []
    /// The number of notifications that gateways read, copies included.
    private(set) var readCount = 0
    private(set) var outcomes: [UInt64: [Outcome]] = [:]
    private(set) var contradictions: [Contradiction] = []
    private(set) var events: [(at: NIODeadline, event: ProviderEvent)] = []

    init(_ schedule: Schedule, seed: UInt64) {
        self.init(schedule, seed: seed, choices: Choices(rest: SplitMix64(seed: seed)))
    }

    /// - Parameter choices: the source of every choice; `seed` is for the client's own jitter.
    init(_ schedule: Schedule, seed: UInt64, choices: Choices) {
        self.schedule = schedule
        self.client = BinaryClient(options: schedule.options, seed: seed)
        self.generator = choices
        if let trouble = schedule.trouble { self.nextTrouble = self.now + self.random(.zero...trouble.every) }
    }

    var moment: Moment { Moment(monotonic: self.now, epochSeconds: self.epochSeconds) }

    var connectionsMade: Int { self.dials }

    /// The events, one a line, with their time in seconds.
    var history: [String] {
        self.events.map { "\(Double($0.at.uptimeNanoseconds - 1_000_000_000_000) / 1e9) \($0.event)" }
    }

    mutating func random(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &self.generator) }

    private mutating func random(_ range: ClosedRange<TimeAmount>) -> TimeAmount {
        .nanoseconds(
            Int64.random(in: range.lowerBound.nanoseconds...range.upperBound.nanoseconds, using: &self.generator)
        )
    }

    /// Submits notifications `names`, each to a device whose token begins with its name.
    mutating func submit(_ names: some Sequence<UInt32>, expiration: (UInt32) -> UInt32? = { _ in nil }) {
        var batch = PushBatch()
        for name in names {
            let token = (0..<4).map { UInt8(truncatingIfNeeded: name >> (24 - 8 * $0)) } + [1, 2, 3, 4]
            do {
                try batch.append(
                    PushNotification(
                        json: Array(#"{"aps":{}}"#.utf8),
                        expiration: expiration(name).map { Expiration(epochSeconds: $0) }
                    ),
                    to: DeviceToken(token),
                    tag: PushTag(UInt64(name))
                )
            } catch {
                preconditionFailure("\(error)")
            }
        }
        self.client.submit(batch.takeFirst(.max), now: self.moment)
        self.settleAccounts()
    }

    /// Submits notifications 0 to `count`, ten at a time, at this rate.
    mutating func submit(_ count: UInt32, perSecond: Int64) {
        let gap = TimeAmount.nanoseconds(10_000_000_000 / perSecond)
        for (index, start) in stride(from: 0, to: count, by: 10).enumerated() {
            let at = self.now + .nanoseconds(gap.nanoseconds * Int64(index))
            self.submissions.append((at, start..<min(start + 10, count)))
        }
    }

    mutating func shutDown(_ proof: Proof) {
        self.client.shutDown(proof: proof, now: self.moment)
        self.settleAccounts()
    }

    /// Runs until everything is submitted.
    mutating func submitAll() {
        while !self.submissions.isEmpty { self.step() }
    }

    /// Runs until every notification has its outcome and, after a shutdown, every connection is gone. Returns false if
    /// `limit` of the world's time passes first.
    mutating func run(limit: TimeAmount = .hours(48)) -> Bool {
        let end = self.now + limit
        while self.now < end {
            if self.submissions.isEmpty, self.client.isShuttingDown ? self.client.isFinished : self.client.isSettled {
                return true
            }
            self.step()
        }
        return false
    }

    /// One round: every link moves a little, then time passes.
    mutating func step() {
        for id in self.links.map(\.id) { self.move(id) }
        self.pass()
    }

    /// The operating system stops the client's process for a while.
    mutating func stopClient(for time: TimeAmount) {
        let end = self.now + time
        while self.now < end {
            for index in self.links.indices { self.movePeer(index) }
            self.now = self.now + .milliseconds(10)
        }
    }

    // MARK: Time

    private mutating func pass() {
        var next = self.now + .milliseconds(Int64(self.random(0...3)))
        let isStill = self.links.allSatisfy { $0.channel.isEmpty && $0.kernel.isEmpty && $0.inbound.isEmpty }
        if isStill, !self.isBusy {
            // Without movement, jump to the next event.
            let trouble = self.links.isEmpty ? nil : self.nextTrouble
            let others = [self.client.nextDeadline, self.submissions.first?.at, trouble].compactMap(\.self)
            let deadlines = self.links.compactMap(\.nextDeadline) + others
            if let earliest = deadlines.min() { next = max(next, earliest) }
        }
        self.isBusy = false
        self.epochSeconds += UInt32((next - self.now).nanoseconds / 1_000_000_000)
        self.now = next
        while let submission = self.submissions.first, submission.at <= self.now {
            self.submissions.removeFirst()
            self.submit(submission.names)
        }
        self.makeTrouble()
        if let deadline = self.client.nextDeadline, deadline <= self.now {
            self.client.tick(now: self.moment)
            self.settleAccounts()
            // A tick may only prepare a write, which happens in the next step.
            self.vainTicks = self.client.nextDeadline.map { $0 <= self.now } ?? false ? self.vainTicks + 1 : 0
            if self.vainTicks > 100 { self.isSpinning = true }
        }
    }

    private mutating func makeTrouble() {
        while let trouble = self.schedule.trouble, let next = self.nextTrouble, next <= self.now {
            let share = trouble.isByChance ? -log(Double(self.random(1...1000)) / 1000) : 1
            self.nextTrouble = next + .nanoseconds(Int64(Double(trouble.every.nanoseconds) * share) + 1)
            for index in self.links.indices where self.links[index].gateway.readCount > 0 {
                let events = self.links[index].gateway.breakOff(trouble.word)
                self.carryOut(.init(events: events), on: index)
            }
        }
    }

    // MARK: The network

    private mutating func move(_ id: ConnectionID) {
        guard let index = self.index(of: id) else { return }
        if !self.links[index].isConnected {
            guard self.now >= self.links[index].connectsAt else { return }
            if self.schedule.dialFailsOneIn > 0, self.random(1...self.schedule.dialFailsOneIn) == 1 {
                self.links.remove(at: index)
                let error = ProviderError(.connectFailed, "refused")
                self.client.ended(id, .notConnected(error), handed: 0, now: self.moment)
            } else {
                self.links[index].isConnected = true
                self.isBusy = true
                self.client.connected(id, now: self.moment)
            }
            return self.settleAccounts()
        }
        self.write(index)
        self.movePeer(index)
        if self.schedule.resetOneIn > 0, self.resets < self.schedule.resetLimit,
            self.random(1...self.schedule.resetOneIn) == 1
        {
            self.resets += 1
            self.links[index].hasEnded = true
        }
        self.deliver(id)
    }

    private mutating func write(_ index: Int) {
        let id = self.links[index].id
        while self.links[index].channel.count < self.schedule.channelLimit {
            var buffer = ByteBuffer()
            guard self.client.write(id, into: &buffer, atMost: self.random(1...500), now: self.moment) else { break }
            self.links[index].channel += Array(buffer.readableBytesView)
            self.links[index].produced += UInt64(buffer.readableBytes)
            self.client.flushed(id, at: self.links[index].produced, now: self.moment)
        }
        self.settleAccounts()
    }

    /// Moves some bytes, as many as the choices say, through the kernels and the peer.
    private mutating func movePeer(_ index: Int) {
        let room = self.schedule.kernelLimit - self.links[index].kernel.count
        let count = min(self.random(0...self.schedule.kernelLimit), room, self.links[index].channel.count)
        if count > 0 {
            self.links[index].kernel += self.links[index].channel.prefix(count)
            self.links[index].channel.removeFirst(count)
            self.links[index].handed += UInt64(count)
            self.links[index].acknowledgements.append((self.now + self.schedule.roundTrip, self.links[index].handed))
        }
        while let next = self.links[index].acknowledgements.first, next.at <= self.now {
            self.links[index].acknowledged = next.count
            self.links[index].acknowledgements.removeFirst()
        }
        if let limit = self.schedule.readsOnly, self.accepted.count >= limit { return }
        let read = self.random(0...self.links[index].kernel.count)
        if read > 0 {
            let bytes = Array(self.links[index].kernel.prefix(read))
            self.links[index].kernel.removeFirst(read)
            let result = self.links[index].gateway.read(bytes)
            self.carryOut(result, on: index)
        }
        if self.links[index].isFinished, self.links[index].channel.isEmpty, self.links[index].kernel.isEmpty,
            !self.links[index].isReadToTheEnd
        {
            self.links[index].isReadToTheEnd = true
            if self.links[index].gateway.rules.closesAtTheEnd { self.links[index].due = [] }
            let result = self.links[index].gateway.judgeRest()
            self.carryOut(result, on: index)
        }
        while let next = self.links[index].due.first, next.at <= self.now {
            self.links[index].due.removeFirst()
            for reply in next.event.replies { self.say(reply, on: index) }
        }
        while let next = self.links[index].arriving.first, next.at <= self.now {
            self.links[index].arriving.removeFirst()
            guard let bytes = next.bytes else {
                self.links[index].hasEnded = true
                continue
            }
            self.links[index].inbound += bytes
            if self.links[index].tells(bytes) { self.links[index].hasTold = true }
        }
        let link = self.links[index]
        if link.isReadToTheEnd, link.due.isEmpty, link.arriving.isEmpty { self.links[index].hasEnded = true }
    }

    /// Notes the gateway's judgement of its input, and schedules its events.
    private mutating func carryOut(_ result: ReferenceGateway.Result, on index: Int) {
        for name in result.accepted { self.accepted[name, default: 0] += 1 }
        for event in result.events {
            var at = self.now
            switch event.time {
            case .atOnce:
                self.links[index].due = []
            case .inOrder:
                at = max(at + self.delay(), self.links[index].due.last?.at ?? at)
            case .inAnyOrder:
                at = at + self.delay()
            }
            let place = self.links[index].due.firstIndex { $0.at > at } ?? self.links[index].due.endIndex
            self.links[index].due.insert(.init(at: at, event: event), at: place)
        }
    }

    private mutating func delay() -> TimeAmount {
        defer { self.hasErred = true }
        if self.schedule.isFirstErrorAtOnce, !self.hasErred { return .zero }
        return self.random(self.schedule.errorDelays)
    }

    private mutating func say(_ reply: ReferenceGateway.Reply, on index: Int) {
        switch reply {
        case .bytes(let bytes):
            self.links[index].arriving.append((self.now + self.schedule.roundTrip, bytes))
        case .close:
            self.links[index].arriving.append((self.now + self.schedule.roundTrip, nil))
            self.links[index].due = []
        case .verdict(let frame):
            let result = self.links[index].gateway.judge(frame)
            self.carryOut(.init(accepted: result.accepted, events: []), on: index)
            // The gateway's time for this has passed.
            for event in result.events {
                for reply in event.replies { self.say(reply, on: index) }
            }
        }
    }

    /// Notes that a connection is gone. Its gateway may still judge.
    private mutating func forget(_ gone: Link) {
        var link = gone
        if self.schedule.readsOnly == nil {
            for name in link.gateway.judgeRest().accepted { self.accepted[name, default: 0] += 1 }
        }
        self.discarded.formUnion(link.gateway.discarded)
        self.readCount += link.gateway.readCount
        if !link.hasTold { self.untold.formUnion(link.gateway.discarded) }
    }

    private mutating func deliver(_ id: ConnectionID) {
        while let index = self.index(of: id), !self.links[index].inbound.isEmpty {
            self.isBusy = true
            let count = self.random(1...self.links[index].inbound.count)
            let bytes = ByteBuffer(bytes: self.links[index].inbound.prefix(count))
            self.links[index].inbound.removeFirst(count)
            self.client.received(id, bytes, handed: self.links[index].handed, now: self.moment)
            self.settleAccounts()
        }
        if let index = self.index(of: id), self.links[index].hasEnded {
            let link = self.links.remove(at: index)
            self.forget(link)
            let handed = link.handed
            self.client.ended(id, .endOfStream, handed: handed, now: self.moment)
            self.settleAccounts()
        }
    }

    private func index(of id: ConnectionID) -> Int? { self.links.firstIndex { $0.id == id } }

    // MARK: The owner of the machine

    mutating func settleAccounts() {
        var actions = self.client.takeSteps()
        while !actions.isEmpty {
            for action in actions { self.carryOut(action) }
            actions = self.client.takeSteps()
        }
        for record in self.client.outcomes.records + self.client.outcomes.awaited {
            self.outcomes[record.tag.rawValue, default: []].append(record.outcome)
        }
        self.client.outcomes.records.removeAll(keepingCapacity: true)
        self.client.outcomes.awaited.removeAll(keepingCapacity: true)
        for event in self.client.takeEvents() {
            self.events.append((self.now, event))
            if case .contradicted(let contradiction) = event { self.contradictions.append(contradiction) }
        }
    }

    private mutating func carryOut(_ action: ConnectionStep) {
        switch action {
        case .dial(let id):
            let first = self.schedule.firstRules
            let rules = self.dials < first.count ? first[self.dials] : self.schedule.rules
            self.dials += 1
            let connectsAt = self.now + .milliseconds(Int64(self.random(0...5)))
            self.links.append(Link(id: id, gateway: ReferenceGateway(rules: rules), connectsAt: connectsAt))
        case .close(let id):
            // The peer may still read the bytes in its kernel.
            guard let index = self.index(of: id) else { return }
            var link = self.links.remove(at: index)
            if self.schedule.readsOnly == nil {
                for name in link.gateway.read(link.kernel).accepted { self.accepted[name, default: 0] += 1 }
            }
            self.forget(link)
        case .finish(let id):
            guard let index = self.index(of: id) else { return }
            self.links[index].isFinished = true
        case .sample(let id):
            guard let index = self.index(of: id) else { return }
            let link = self.links[index]
            let sample = TransportSample(
                acknowledged: link.acknowledged,
                handed: link.handed,
                hasUnread: !link.inbound.isEmpty || link.hasEnded,
                isWritable: link.channel.count < self.schedule.channelLimit
            )
            self.client.sampled(id, sample, now: self.moment)
        case .refused:
            preconditionFailure("the binary protocol has no provider tokens")
        }
    }
}

/// The source of every choice in a world: first the bytes of a fuzzer, one for each choice, and then random numbers.
struct Choices: RandomNumberGenerator {
    var bytes: ArraySlice<UInt8> = []
    var rest: SplitMix64

    mutating func next() -> UInt64 {
        let chance = self.rest.next()
        return self.bytes.popFirst().map { UInt64($0) << 56 | chance >> 8 } ?? chance
    }
}
