import FerryCore
import FerryHTTP2
import FerryMachine
import NIOCore

/// A client of APNs, the servers that it dials, and the network between them, with their own clock.
///
/// Every choice comes from one generator: how much is written, read and delivered at a time, and how long things take.
/// So a seed replays a run exactly.
struct World: ~Copyable {
    struct Schedule {
        var options = HTTP2Options()
        var rules = ReferenceAPNs.Rules()
        /// The rules of the first connections, one each. `rules` applies to all later ones.
        var firstRules: [ReferenceAPNs.Rules] = []
        /// Whether the provider token is old enough to be replaced at once.
        var hasOldToken = false
        /// One in this many steps resets a connection; 0: never.
        var resetOneIn = 0
        /// The number of resets after which they stop.
        var resetLimit = 5
        /// One in this many dials fails, or finds the credentials refused; 0: never.
        var dialFailsOneIn = 0
        var credentialsFailOneIn = 0
        /// The capacity in bytes of the channel between machine and kernel, and of the kernel.
        var channelLimit = 4000
        var kernelLimit = 4000
        /// How long a path may be quiet before it forgets its connection; nil: for ever. A forgotten connection is
        /// reset, or carries nothing any more.
        var pathForgetsAfter: TimeAmount?
        var forgettingResets = false
        /// One in this many steps the machine sleeps for a while; 0: never.
        var sleepsOneIn = 0
        /// The number of devices.
        var devices = UInt32.max
        var expirations: [UInt32: UInt32] = [:]
    }

    private struct Link {
        var id: ConnectionID
        var server: ReferenceAPNs
        var isConnected = false
        var connectsAt: NIODeadline
        /// Bytes that the machine has written and the kernel does not have yet.
        var channel: [UInt8] = []
        /// Bytes that the kernel has and the peer has not read.
        var kernel: [UInt8] = []
        var handed: UInt64 = 0
        var produced: UInt64 = 0
        /// Bytes on the way to the machine, which may read them in pieces.
        var inbound: [UInt8] = []
        var delivered = 0
        var hasEnded = false
        var isFinished = false
        /// When the path last carried something, by the clock that also runs during sleep.
        var carriedAt: NIODeadline
        var isForgotten = false
    }

    let schedule: Schedule
    var client: HTTP2Client
    private var tokens = TokenOwner()
    private var choices: Choices
    private(set) var now: NIODeadline = .uptimeNanoseconds(1_000_000_000_000_000)
    private(set) var epochSeconds: UInt32 = 1_700_000_000
    private var slept = TimeAmount.zero
    private var links: [Link] = []
    private var resets = 0
    private var dials = 0
    private var hasMoved = false
    private var restingSteps = 0
    private var ticksAtOnce = 0
    private var lastTick = NIODeadline.distantPast
    /// Time does not jump beyond this.
    private var latest = NIODeadline.distantFuture
    let books = ReferenceAPNs.Books()
    private(set) var submitted: [UInt32: NIODeadline] = [:]
    private(set) var outcomes: [UInt64: [OutcomeRecord]] = [:]
    private(set) var settledAt: [UInt64: NIODeadline] = [:]
    /// Where and when a notification was last written, and how often on that connection.
    private var written: [UInt64: (connection: ConnectionID, copies: Int, at: NIODeadline)] = [:]
    private var copies: [ConnectionID: [UInt64: Int]] = [:]
    /// The notifications whose acceptance arrived while the client waited for it.
    private(set) var told: Set<UInt32> = []
    private(set) var events: [ProviderEvent] = []
    /// The faults during the run.
    private(set) var faults: [String] = []

    init(_ schedule: Schedule, seed: UInt64) {
        self.init(schedule, seed: seed, choices: Choices(rest: SplitMix64(seed: seed)))
    }

    /// - Parameter choices: the source of every choice; `seed` is for the client's own jitter.
    init(_ schedule: Schedule, seed: UInt64, choices: Choices) {
        self.schedule = schedule
        self.client = HTTP2Client(
            options: schedule.options,
            authority: "localhost",
            bundleID: "com.example.app",
            usesTokens: schedule.rules.hasTokens,
            seed: seed
        )
        self.client.reportsTransmitted = true
        self.choices = choices
        if schedule.hasOldToken {
            let past = Moment(monotonic: self.now - .minutes(30), epochSeconds: self.epochSeconds - 1800)
            _ = self.tokens.authorize(past)
        }
    }

    var moment: Moment { Moment(monotonic: self.now, epochSeconds: self.epochSeconds, boot: self.boot) }

    private var boot: NIODeadline { self.now + self.slept }

    var connectionsMade: Int { self.dials }

    /// Submits notifications `names`.
    mutating func submit(_ names: some Sequence<UInt32>) {
        var batch = PushBatch()
        for name in names {
            let device = name % self.schedule.devices
            let token = (0..<4).map { UInt8(truncatingIfNeeded: device >> (24 - 8 * $0)) } + [1, 2, 3, 4]
            do {
                try batch.append(
                    PushNotification(
                        json: Array(#"{"n":\#(name),"aps":{}}"#.utf8),
                        expiration: self.schedule.expirations[name].map {
                            Expiration(epochSeconds: self.epochSeconds + $0)
                        },
                        collapseID: "\(name)"
                    ),
                    to: DeviceToken(token),
                    tag: PushTag(UInt64(name))
                )
            } catch {
                preconditionFailure("\(error)")
            }
            self.submitted[name] = self.now
        }
        self.client.submit(batch.takeFirst(.max), now: self.moment)
        self.settleAccounts()
    }

    /// Runs until every notification has its outcome and, after a shutdown, every connection is gone. Returns false if
    /// `limit` of the world's time passes first, or a fault occurs.
    mutating func run(limit: TimeAmount) -> Bool {
        let end = self.now + limit
        while self.faults.isEmpty {
            if self.client.isShuttingDown ? self.client.isFinished : self.client.isSettled { return true }
            guard self.now < end else { break }
            self.step()
        }
        return false
    }

    /// One round: every link moves a little, then time passes.
    mutating func step() {
        self.hasMoved = false
        if self.choices.isOne(in: self.schedule.sleepsOneIn) {
            self.slept = self.slept + .seconds(Int64(self.choices.number(1...100)))
        }
        for id in self.links.map(\.id) { self.move(id) }
        self.pass()
    }

    /// Lets the machine sleep. Its monotonic clock stands still.
    mutating func sleep(_ time: TimeAmount) { self.slept = self.slept + time }

    /// Lets this time pass.
    mutating func rest(_ time: TimeAmount) {
        let end = self.now + time
        while self.faults.isEmpty, self.now < end {
            self.latest = end
            self.step()
        }
        self.latest = .distantFuture
    }

    /// Whether bytes are on their way.
    private var canMove: Bool {
        self.links.contains { link in
            let hasRoom = link.kernel.count < self.schedule.kernelLimit
            return !link.inbound.isEmpty || !link.kernel.isEmpty && !link.server.readsNothing && !link.isForgotten
                || !link.channel.isEmpty && hasRoom
        }
    }

    // MARK: Time

    private mutating func pass() {
        var next = self.now + .milliseconds(Int64(self.choices.number(0...3)))
        self.restingSteps = self.hasMoved || self.canMove ? 0 : self.restingSteps + 1
        if self.restingSteps > 2 {
            // Without movement, jump to the next event.
            let servers = self.links.filter { $0.isConnected && !$0.hasEnded && !$0.isForgotten }.map(
                \.server.nextDeadline
            )
            let connects = self.links.filter { !$0.isConnected }.map(\.connectsAt)
            let deadlines = (servers + [self.client.nextDeadline]).compactMap { $0 } + connects
            // Without a deadline, nothing will ever happen again.
            next = max(next, min(deadlines.min() ?? self.now + .hours(1), self.latest))
        }
        let passed = (next - self.now).nanoseconds / 1_000_000_000
        self.epochSeconds += UInt32(clamping: passed)
        self.now = next
        if let deadline = self.client.nextDeadline, deadline <= self.now { self.tick() }
    }

    private mutating func tick() {
        self.ticksAtOnce = self.lastTick == self.now ? self.ticksAtOnce + 1 : 0
        self.lastTick = self.now
        if self.ticksAtOnce > 100 { self.faults.append("it spins") }
        self.client.tick(now: self.moment)
        self.settleAccounts()
    }

    // MARK: The network

    private mutating func move(_ id: ConnectionID) {
        guard let index = self.index(of: id) else { return }
        if !self.links[index].isConnected {
            guard self.now >= self.links[index].connectsAt else { return }
            self.hasMoved = true
            self.connect(index)
            return self.settleAccounts()
        }
        self.forget(id)
        self.write(id)
        self.movePeer(id)
        if self.resets < self.schedule.resetLimit, self.choices.isOne(in: self.schedule.resetOneIn),
            let index = self.index(of: id)
        {
            self.resets += 1
            self.links[index].hasEnded = true
            if self.choices.isOne(in: 2) { self.links[index].inbound = [] }
        }
        self.deliver(id)
    }

    /// Lets the path forget a connection that was quiet for long.
    private mutating func forget(_ id: ConnectionID) {
        guard let limit = self.schedule.pathForgetsAfter, let index = self.index(of: id),
            !self.links[index].isForgotten, self.links[index].carriedAt + limit <= self.boot
        else { return }
        self.links[index].isForgotten = true
    }

    private mutating func connect(_ index: Int) {
        let id = self.links[index].id
        if self.choices.isOne(in: self.schedule.dialFailsOneIn) {
            self.links.remove(at: index)
            self.client.ended(id, .notConnected(ProviderError(.connectFailed, "refused")), handed: 0, now: self.moment)
        } else if self.choices.isOne(in: self.schedule.credentialsFailOneIn) {
            self.links.remove(at: index)
            let error = ProviderError(.credentialsRejected, "refused")
            self.client.ended(id, .credentialsRejected(error), handed: 0, now: self.moment)
        } else {
            self.links[index].isConnected = true
            self.client.connected(id, now: self.moment)
        }
    }

    private mutating func write(_ id: ConnectionID) {
        var rounds = 0
        while let index = self.index(of: id), self.links[index].channel.count < self.schedule.channelLimit {
            if self.client.needsAuthorization { self.client.authorized(self.tokens.authorize(self.moment)) }
            var buffer = ByteBuffer()
            let hasWritten = self.client.write(
                id,
                into: &buffer,
                atMost: self.choices.number(1...600),
                now: self.moment
            )
            guard hasWritten else { break }
            if self.links[index].isFinished, buffer.readableBytes > 0 { self.faults.append("written after the end") }
            self.hasMoved = true
            self.links[index].channel += Array(buffer.readableBytesView)
            self.links[index].produced += UInt64(buffer.readableBytes)
            self.client.flushed(id, at: self.links[index].produced, now: self.moment)
            self.settleAccounts()
            rounds += 1
            if rounds > 10_000 { return self.faults.append("it writes for ever") }
        }
        self.settleAccounts()
    }

    /// Moves some bytes, as many as the choices say, through the kernels and the peer.
    private mutating func movePeer(_ id: ConnectionID) {
        guard let index = self.index(of: id) else { return }
        let room = self.schedule.kernelLimit - self.links[index].kernel.count
        let count = min(self.choices.number(0...self.schedule.kernelLimit), room, self.links[index].channel.count)
        if count > 0 {
            self.hasMoved = true
            if self.links[index].isForgotten, self.schedule.forgettingResets { self.links[index].hasEnded = true }
            self.links[index].kernel += self.links[index].channel.prefix(count)
            self.links[index].channel.removeFirst(count)
            self.links[index].handed += UInt64(count)
        }
        let server = self.links[index].server
        let isCut = server.readsNothing || self.links[index].isForgotten
        let read = isCut ? 0 : self.choices.number(0...self.links[index].kernel.count)
        if read > 0 {
            self.hasMoved = true
            self.links[index].carriedAt = self.boot
            let bytes = Array(self.links[index].kernel.prefix(read))
            self.links[index].kernel.removeFirst(read)
            server.receive(bytes, now: self.now, &self.choices)
        }
        let said = self.links[index].isForgotten ? [] : server.speak(now: self.now, &self.choices)
        if server.hasConsumed { self.hasMoved = true }
        if !said.isEmpty {
            self.hasMoved = true
            self.links[index].carriedAt = self.boot
            self.links[index].inbound += said
        }
        let link = self.links[index]
        let isDone = link.isFinished && link.channel.isEmpty && link.kernel.isEmpty
        if server.hasEnded || isDone && !server.isTalkative { self.links[index].hasEnded = true }
        self.faults += self.books.faults
    }

    private mutating func deliver(_ id: ConnectionID) {
        while let index = self.index(of: id), !self.links[index].inbound.isEmpty {
            self.hasMoved = true
            let count = self.choices.number(1...self.links[index].inbound.count)
            let bytes = ByteBuffer(bytes: self.links[index].inbound.prefix(count))
            self.links[index].inbound.removeFirst(count)
            self.links[index].delivered += count
            for (name, copy) in self.links[index].server.takeTold(upTo: self.links[index].delivered) {
                self.note(name, copy, id)
            }
            self.client.received(id, bytes, handed: .max, now: self.moment)
            self.settleAccounts()
        }
        if let index = self.index(of: id), self.links[index].hasEnded {
            self.hasMoved = true
            let link = self.links.remove(at: index)
            self.bury(link)
            let end: ConnectionEnd =
                self.choices.isOne(in: 2) ? .endOfStream : .lost(ProviderError(.connectionLost, "reset"))
            self.client.ended(id, end, handed: link.handed, now: self.moment)
            self.settleAccounts()
        }
    }

    /// Notes the arrival of an acceptance. It counts only if the client waits for it: the answer to an earlier request
    /// does not count.
    private mutating func note(_ name: UInt32, _ copy: Int, _ id: ConnectionID) {
        guard let last = self.written[UInt64(name)], last.connection == id, last.copies == copy,
            self.outcomes[UInt64(name)] == nil,
            self.now < last.at + TimeAmount(self.schedule.options.attemptTimeout)
        else { return }
        self.told.insert(name)
    }

    /// After a connection is gone, lets the peer read bytes that its kernel still has.
    private mutating func bury(_ link: Link) {
        guard !link.server.readsNothing, !link.isForgotten else { return }
        link.server.receive(
            link.kernel.prefix(self.choices.number(0...link.kernel.count)),
            now: self.now,
            &self.choices
        )
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
            self.outcomes[record.tag.rawValue, default: []].append(record)
            self.settledAt[record.tag.rawValue] = self.now
        }
        self.client.outcomes.records.removeAll(keepingCapacity: true)
        self.client.outcomes.awaited.removeAll(keepingCapacity: true)
        for event in self.client.takeEvents() {
            self.events.append(event)
            guard case .transmitted(let id, let tags) = event else { continue }
            for tag in tags {
                let copies = self.copies[id, default: [:]][tag.rawValue, default: 0] + 1
                self.copies[id, default: [:]][tag.rawValue] = copies
                self.written[tag.rawValue] = (id, copies, self.now)
            }
        }
    }

    private mutating func carryOut(_ action: ConnectionStep) {
        switch action {
        case .dial(let id):
            let first = self.schedule.firstRules
            let rules = self.dials < first.count ? first[self.dials] : self.schedule.rules
            self.dials += 1
            let connectsAt = self.now + .milliseconds(Int64(self.choices.number(0...5)))
            do {
                try self.links.append(
                    Link(
                        id: id,
                        server: ReferenceAPNs(rules, self.books),
                        connectsAt: connectsAt,
                        carriedAt: self.boot + .milliseconds(5)
                    )
                )
            } catch {
                preconditionFailure("\(error)")
            }
        case .close(let id):
            guard let index = self.index(of: id) else { return self.faults.append("closed what is not there") }
            self.bury(self.links.remove(at: index))
        case .finish(let id):
            guard let index = self.index(of: id), self.links[index].isConnected, !self.links[index].isFinished else {
                return self.faults.append("finished what is not there")
            }
            self.links[index].isFinished = true
        case .refused(let reason, let token):
            self.tokens.refused(reason, token, self.moment)
        case .sample:
            self.faults.append("asked the system, which knows nothing of answers")
        }
    }

    mutating func abandon() {
        let handed = Dictionary(uniqueKeysWithValues: self.links.map { ($0.id, $0.handed) })
        self.client.abandon(
            undelivered: .shutDown,
            uncertain: .shutDown,
            handed: { handed[$0] ?? 0 },
            now: self.moment
        )
        self.settleAccounts()
    }
}
