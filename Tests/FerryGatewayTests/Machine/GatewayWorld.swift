import FerryBinary
import FerryCore
import FerryMachine
import NIOCore
import Testing

@testable import FerryGateway

/// A gateway machine, an APNs with random answers, and old clients with a network between: one random course. The same
/// seed gives the same course.
final class GatewayWorld {
    /// The habits of a client.
    struct Manner {
        /// Whether it sends the followers of an error again.
        var resends = true
        /// How many notifications it remembers.
        var cacheLength = 100_000
        /// One way.
        var latency: TimeAmount = .milliseconds(1)
        /// The time between two notifications.
        var pace: TimeAmount = .zero
        /// Whether it writes and exits, without reading.
        var exits = false
    }

    private struct Event {
        var at: NIODeadline
        var order: Int
        var body: () -> Void
    }

    private final class Link {
        let id: ConnectionID
        var lastArrival: NIODeadline
        var isReading = true
        var unread: [() -> Void] = []

        init(_ id: ConnectionID, now: NIODeadline) {
            self.id = id
            self.lastArrival = now
        }
    }

    private static let start = NIODeadline.uptimeNanoseconds(1_000_000_000_000)

    private(set) var machine: GatewayMachine
    /// Nil: the gateway keeps nothing, and is never killed.
    private let store: MemoryStore?
    /// How long the store takes for a commit, in milliseconds.
    private let storeTimes: ClosedRange<Int64>
    /// How often the gateway was killed.
    private(set) var kills = 0
    /// The notifications that the store had, and those that it had without an answer at a kill.
    private(set) var stored: Set<UInt32> = []
    private(set) var unanswered: Set<UInt32> = []
    private(set) var recoveredCount = 0
    private var generator: SplitMix64
    private let bad: Set<UInt32>
    private let manner: Manner
    private let answerTimes: ClosedRange<Int64>
    private var now = GatewayWorld.start
    private var events: [Event] = []
    private var order = 0
    private var links: [ConnectionID: Link] = [:]

    private var storeBusyUntil = GatewayWorld.start
    private var link: Link?
    private var nextIdentifier: UInt32 = 0
    private var cache: [(identifier: UInt32, name: UInt32)] = []

    private(set) var arrivals: [UInt32: Int] = [:]
    private(set) var listed: [UInt32: Int] = [:]
    private(set) var told: [(status: BinaryStatus, name: UInt32?)] = []

    /// - Parameter storeTimes: how long the store takes for a commit, in milliseconds; nil: there is no store.
    init(
        seed: UInt64,
        _ manner: Manner,
        bad: Set<UInt32>,
        answerTimes: ClosedRange<Int64>,
        storeTimes: ClosedRange<Int64>? = nil
    ) throws {
        self.generator = SplitMix64(seed: seed)
        self.manner = manner
        self.bad = bad
        self.answerTimes = answerTimes
        self.storeTimes = storeTimes ?? 0...0
        self.store = storeTimes.map { _ in MemoryStore(node: seed) }
        if let store {
            let moment = Moment(monotonic: Self.start, epochSeconds: 1_700_000_000)
            self.machine = try GatewayProcess.machine(store, now: moment, makeKey: Self.key)
            return
        }
        let dispatch = Dispatch(
            identities: [GatewayIdentity(name: "old", routes: [0])],
            routes: [Route(upstream: 0, topic: Array("com.example.app".utf8))],
            upstreams: 1,
            node: seed
        )
        self.machine = GatewayMachine(dispatch) { _, token, payload in
            Self.key(Array(token)[...], Array(payload)[...])
        }
    }

    /// Unique in a test: the name, and the length of the payload.
    private static func key(_ token: ArraySlice<UInt8>, _ payload: ArraySlice<UInt8>) -> ReplayKey {
        ReplayKey(high: UInt64(payload.count), low: token.reduce(0) { $0 << 8 | UInt64($1) })
    }

    // MARK: Kills

    /// Ends the gateway's process without a word at this time, and starts another.
    func kill(after time: TimeAmount) {
        self.at(self.now + time) {
            guard let store = self.store else { return }
            self.kills += 1
            let links = self.links.values
            self.links = [:]
            for link in links { self.at(self.now + self.manner.latency) { self.reset(link) } }
            do {
                let recovery = try GatewayProcess.recovery(store, makeKey: Self.key)
                self.unanswered.formUnion(recovery.unanswered.values.map { Self.name(Array($0.token)) })
                self.machine = try GatewayProcess.machine(store, now: self.moment, makeKey: Self.key)
                self.recoveredCount += self.machine.counts.recovered
            } catch {
                Issue.record(error)
            }
        }
    }

    private func commit() {
        for commit in self.machine.takeCommits(now: self.moment) {
            let time = TimeAmount.milliseconds(Int64.random(in: self.storeTimes, using: &self.generator))
            let kills = self.kills
            // The store keeps the order.
            self.storeBusyUntil = max(self.storeBusyUntil, self.now + time)
            self.at(self.storeBusyUntil) {
                guard kills == self.kills, let store = self.store else { return }
                store.append(commit) { _ in }
                self.note(commit.segment)
                self.machine.stored(commit.segment.number, .durable, now: self.moment)
            }
        }
    }

    private func note(_ segment: StoredSegment) {
        do {
            try Segment.read(segment, GatewayProcess.checksum) { record in
                if case .read(_, _, _, _, _, let token, _) = record { self.stored.insert(Self.name(Array(token))) }
            }
        } catch {
            Issue.record(error)
        }
    }

    /// Notes that the connection is gone: what the client had written is lost, unless the gateway had read it.
    private func reset(_ link: Link) {
        if self.link === link { self.link = nil }
    }

    private var moment: Moment {
        Moment(
            monotonic: self.now,
            epochSeconds: 1_700_000_000 + UInt32((self.now - Self.start).nanoseconds / 1_000_000_000)
        )
    }

    // MARK: Time

    func at(_ time: NIODeadline, _ body: @escaping () -> Void) {
        self.order += 1
        let event = Event(at: max(time, self.now), order: self.order, body: body)
        var index = self.events.endIndex
        while index > 0, (self.events[index - 1].at, self.events[index - 1].order) < (event.at, event.order) {
            index -= 1
        }
        self.events.insert(event, at: index)
    }

    /// Pushes these, and runs until nothing more can happen.
    func run(_ names: Range<UInt32>) {
        var time = self.now
        for name in names {
            self.at(time) { self.push(name) }
            time = time + self.manner.pace
        }
        if self.manner.exits { self.at(time) { self.hangUp() } }
        let end = self.now + .minutes(30)
        while true {
            let next = min(self.events.last?.at ?? .distantFuture, self.machine.nextDeadline ?? .distantFuture)
            guard next <= end else { return }
            self.now = max(self.now, next)
            if let event = self.events.last, event.at <= self.now {
                self.events.removeLast()
                event.body()
            } else {
                self.machine.timePassed(now: self.moment)
            }
            self.carryOut()
        }
    }

    // MARK: The gateway's owner

    private func carryOut() {
        var actions = self.machine.takeActions()
        while !actions.isEmpty {
            for action in actions { self.carryOut(action) }
            actions = self.machine.takeActions()
        }
        self.machine.withBatch(for: 0) { batch in
            while let next = batch.popFirst() { self.forward(next) }
        }
        self.commit()
        for event in self.machine.takeEvents() {
            guard case .refused(let refusal) = event, let token = refusal.token else { continue }
            self.listed[Self.name(token), default: 0] += 1
        }
    }

    private func carryOut(_ action: GatewayMachine.Action) {
        guard let link = self.links[action.connection] else { return }
        switch action.work {
        case .tell(let response):
            self.at(self.now + self.manner.latency) { self.heard(response, on: link) }
        case .closeOutput:
            self.at(self.now + self.manner.latency) { self.heard(nil, on: link) }
        case .close:
            self.links[link.id] = nil
        case .read(let isReading):
            link.isReading = isReading
            guard isReading else { return }
            let unread = link.unread
            link.unread = []
            for body in unread { self.at(self.now) { self.deliver(body, on: link) } }
        }
    }

    private func deliver(_ body: @escaping () -> Void, on link: Link) {
        guard self.links[link.id] != nil else { return }
        if link.isReading { body() } else { link.unread.append(body) }
    }

    private func forward(_ submission: Submission) {
        let name = Self.name(submission.device.bytes)
        let isBad = self.bad.contains(name)
        if !isBad { self.arrivals[name, default: 0] += 1 }
        let outcome: Outcome =
            isBad
            ? .rejected(Rejection(reason: .badDeviceToken, origin: .apns, status: 400)) : .accepted(.confirmed)
        let time = TimeAmount.milliseconds(Int64.random(in: self.answerTimes, using: &self.generator))
        let kills = self.kills
        self.at(self.now + time) {
            guard kills == self.kills else { return }
            self.machine.settled([OutcomeRecord(tag: submission.tag, outcome: outcome)], now: self.moment)
        }
    }

    private static func name(_ token: [UInt8]) -> UInt32 { token.reduce(0) { $0 << 8 | UInt32($1) } }

    // MARK: The client

    private func push(_ name: UInt32) {
        let link = self.link ?? self.connect()
        let identifier = self.nextIdentifier
        self.nextIdentifier += 1
        self.cache.append((identifier, name))
        if self.cache.count > self.manner.cacheLength { self.cache.removeFirst() }
        var bytes = ByteBuffer()
        let payload = #"{"aps":{"alert":"Hello"}}"#
        bytes.writeMultipleIntegers(UInt8(1), identifier, UInt32(0), UInt16(4), name, UInt16(payload.utf8.count))
        bytes.writeString(payload)
        self.send(on: link) { self.machine.received(link.id, bytes, now: self.moment) }
    }

    private func send(on link: Link, _ body: @escaping () -> Void) {
        link.lastArrival = max(link.lastArrival, self.now + self.manner.latency)
        self.at(link.lastArrival) { self.deliver(body, on: link) }
    }

    private func connect() -> Link {
        let id = self.machine.connected(identity: 0, address: [192, 0, 2, 1], now: self.moment)
        self.machine.sampled(id, roundTrip: self.manner.latency + self.manner.latency)
        let link = Link(id, now: self.now)
        self.links[id] = link
        self.link = link
        return link
    }

    private func hangUp() {
        guard let link = self.link else { return }
        self.link = nil
        self.send(on: link) { self.machine.inputEnded(link.id, now: self.moment) }
    }

    private func heard(_ response: ErrorResponse?, on link: Link) {
        if let response {
            let name = self.cache.first { $0.identifier == response.identifier }?.name
            self.told.append((response.status, name))
        }
        guard self.link === link else { return }
        self.hangUp()
        guard self.manner.resends, let response,
            let index = self.cache.firstIndex(where: { $0.identifier == response.identifier })
        else { return }
        let followers = self.cache[(index + 1)...]
        self.cache = []
        for follower in followers { self.push(follower.name) }
    }
}
