import FerryBinary
import FerryCore
import FerryMachine
import NIOCore

/// A client machine, the gateways that it dials, and the network between them, in a time of their own.
///
/// Every choice (how much is written, read, acknowledged and delivered at a time, and how long things take) comes from
/// one generator, so that a seed replays a run exactly.
struct World: ~Copyable {
    struct Schedule {
        var options = BinaryOptions()
        var rules = ReferenceGateway.Rules()
        /// Rules of the first connections, one each; `rules` holds for those after them.
        var firstRules: [ReferenceGateway.Rules] = []
        /// How long a delayed reply takes.
        var errorDelay: TimeAmount = .milliseconds(20)
        /// One in this many steps resets a connection; 0: never.
        var resetOneIn = 0
        /// Resets stop after this many.
        var resetLimit = 5
        /// One in this many dials fails; 0: never.
        var dialFailsOneIn = 0
        /// How many bytes wait between the machine and the kernel, and in the kernel.
        var channelLimit = 2000
        var kernelLimit = 1000
        /// The peer stops reading after this many notifications, for ever.
        var readsOnly: Int?
    }

    private struct Link {
        var id: ConnectionID
        var gateway: ReferenceGateway
        var isConnected = false
        var connectsAt: NIODeadline
        /// Written by the machine and not with the kernel.
        var channel: [UInt8] = []
        /// With the kernel and not read by the peer. The kernel of the peer acknowledges what it holds.
        var kernel: [UInt8] = []
        var handed: UInt64 = 0
        var acknowledged: UInt64 = 0
        var produced: UInt64 = 0
        var replies: [(at: NIODeadline, reply: ReferenceGateway.Reply)] = []
        /// On the way to the machine, which may read it in pieces.
        var inbound: [UInt8] = []
        var hasEnded = false
        var isFinished = false
    }

    let schedule: Schedule
    var client: BinaryClient
    private var generator: Choices
    private(set) var now: NIODeadline = .uptimeNanoseconds(1_000_000_000_000)
    private(set) var epochSeconds: UInt32 = 1_700_000_000
    private var links: [Link] = []
    private var resets = 0
    private var dials = 0
    /// How often the gateways accepted each notification.
    private(set) var accepted: [UInt32: Int] = [:]
    /// What gateways read and did not accept.
    private(set) var discarded: Set<UInt32> = []
    private(set) var outcomes: [UInt64: [Outcome]] = [:]
    private(set) var contradictions: [Contradiction] = []
    private(set) var events: [ProviderEvent] = []

    init(_ schedule: Schedule, seed: UInt64) {
        self.init(schedule, seed: seed, choices: Choices(rest: SplitMix64(seed: seed)))
    }

    /// - Parameter choices: what every choice comes from; `seed` is that of the client's own jitter.
    init(_ schedule: Schedule, seed: UInt64, choices: Choices) {
        self.schedule = schedule
        self.client = BinaryClient(options: schedule.options, seed: seed)
        self.generator = choices
    }

    var moment: Moment { Moment(monotonic: self.now, epochSeconds: self.epochSeconds) }

    var connectionsMade: Int { self.dials }

    mutating func random(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &self.generator) }

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
                    tag: Tag(UInt64(name))
                )
            } catch {
                preconditionFailure("\(error)")
            }
        }
        self.client.submit(batch.takeFirst(.max), now: self.moment)
        self.settleAccounts()
    }

    /// Runs until everything has its outcome and, after a shutdown, every connection is gone; false when `limit` of
    /// the world's time passes before.
    mutating func run(limit: TimeAmount = .hours(48)) -> Bool {
        let end = self.now + limit
        while self.now < end {
            if self.client.isShuttingDown ? self.client.isFinished : self.client.isSettled { return true }
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
        if self.links.allSatisfy({ $0.channel.isEmpty && $0.kernel.isEmpty && $0.inbound.isEmpty }) {
            // Nothing moves by itself: jump to what comes next.
            let replies = self.links.flatMap { $0.replies.map(\.at) }
            let connects = self.links.filter { !$0.isConnected }.map(\.connectsAt)
            let deadlines = replies + connects + [self.client.nextDeadline].compactMap { $0 }
            if let earliest = deadlines.min() { next = max(next, earliest) }
        }
        self.epochSeconds += UInt32((next - self.now).nanoseconds / 1_000_000_000)
        self.now = next
        if let deadline = self.client.nextDeadline, deadline <= self.now {
            self.client.tick(now: self.moment)
            self.settleAccounts()
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

    /// The kernels and the peer do some of what they could.
    private mutating func movePeer(_ index: Int) {
        let room = self.schedule.kernelLimit - self.links[index].kernel.count
        let count = min(self.random(0...self.schedule.kernelLimit), room, self.links[index].channel.count)
        if count > 0 {
            self.links[index].kernel += self.links[index].channel.prefix(count)
            self.links[index].channel.removeFirst(count)
            self.links[index].handed += UInt64(count)
            self.links[index].acknowledged = self.links[index].handed
        }
        if let limit = self.schedule.readsOnly, self.accepted.count >= limit { return }
        let read = self.random(0...self.links[index].kernel.count)
        if read > 0 {
            let bytes = Array(self.links[index].kernel.prefix(read))
            self.links[index].kernel.removeFirst(read)
            let (names, events) = self.links[index].gateway.read(bytes)
            for name in names { self.accepted[name, default: 0] += 1 }
            self.discarded.formUnion(self.links[index].gateway.discarded)
            for event in events {
                let delay = event.isDelayed ? self.schedule.errorDelay : .zero
                self.links[index].replies.append((self.now + delay, event.reply))
            }
        }
        while let reply = self.links[index].replies.first, reply.at <= self.now {
            self.links[index].replies.removeFirst()
            switch reply.reply {
            case .bytes(let bytes): self.links[index].inbound += bytes
            case .close: self.links[index].hasEnded = true
            }
        }
        let link = self.links[index]
        if link.isFinished, link.channel.isEmpty, link.kernel.isEmpty, link.replies.isEmpty {
            self.links[index].hasEnded = true
        }
    }

    private mutating func deliver(_ id: ConnectionID) {
        while let index = self.index(of: id), !self.links[index].inbound.isEmpty {
            let count = self.random(1...self.links[index].inbound.count)
            let bytes = ByteBuffer(bytes: self.links[index].inbound.prefix(count))
            self.links[index].inbound.removeFirst(count)
            self.client.received(id, bytes, handed: self.links[index].handed, now: self.moment)
            self.settleAccounts()
        }
        if let index = self.index(of: id), self.links[index].hasEnded {
            let handed = self.links[index].handed
            self.links.remove(at: index)
            self.client.ended(id, .endOfStream, handed: handed, now: self.moment)
            self.settleAccounts()
        }
    }

    private func index(of id: ConnectionID) -> Int? { self.links.firstIndex { $0.id == id } }

    // MARK: What the owner of a machine does

    mutating func settleAccounts() {
        var actions = self.client.takeActions()
        while !actions.isEmpty {
            for action in actions { self.carryOut(action) }
            actions = self.client.takeActions()
        }
        for record in self.client.outcomes.records + self.client.outcomes.awaited {
            self.outcomes[record.tag.rawValue, default: []].append(record.outcome)
        }
        self.client.outcomes.records.removeAll(keepingCapacity: true)
        self.client.outcomes.awaited.removeAll(keepingCapacity: true)
        for event in self.client.takeEvents() {
            self.events.append(event)
            if case .contradicted(let contradiction) = event { self.contradictions.append(contradiction) }
        }
    }

    private mutating func carryOut(_ action: BinaryClient.Action) {
        switch action {
        case .dial(let id):
            let first = self.schedule.firstRules
            let rules = self.dials < first.count ? first[self.dials] : self.schedule.rules
            self.dials += 1
            let connectsAt = self.now + .milliseconds(Int64(self.random(0...5)))
            self.links.append(Link(id: id, gateway: ReferenceGateway(rules: rules), connectsAt: connectsAt))
        case .close(let id):
            // What the peer's kernel holds, the peer may still read.
            guard let index = self.index(of: id) else { return }
            var link = self.links.remove(at: index)
            if self.schedule.readsOnly == nil {
                for name in link.gateway.read(link.kernel).accepted { self.accepted[name, default: 0] += 1 }
            }
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
        }
    }
}

/// What every choice of a world comes from: the bytes of a fuzzer, one for each, and then chance.
struct Choices: RandomNumberGenerator {
    var bytes: ArraySlice<UInt8> = []
    var rest: SplitMix64

    mutating func next() -> UInt64 {
        let chance = self.rest.next()
        return self.bytes.popFirst().map { UInt64($0) << 56 | chance >> 8 } ?? chance
    }
}
