import FerryBinary
import FerryCore
import FerryMachine
import NIOCore

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

    let machine: GatewayMachine
    private var generator: SplitMix64
    private let bad: Set<UInt32>
    private let manner: Manner
    private let answerTimes: ClosedRange<Int64>
    private var now = GatewayWorld.start
    private var events: [Event] = []
    private var order = 0
    private var links: [ConnectionID: Link] = [:]

    private var link: Link?
    private var nextIdentifier: UInt32 = 0
    private var cache: [(identifier: UInt32, name: UInt32)] = []

    private(set) var arrivals: [UInt32: Int] = [:]
    private(set) var listed: [UInt32: Int] = [:]
    private(set) var told: [(status: BinaryStatus, name: UInt32?)] = []

    init(seed: UInt64, _ manner: Manner, bad: Set<UInt32>, answerTimes: ClosedRange<Int64>) {
        self.generator = SplitMix64(seed: seed)
        self.manner = manner
        self.bad = bad
        self.answerTimes = answerTimes
        let dispatch = Dispatch(
            identities: [GatewayIdentity(name: "old", routes: [0])],
            routes: [Route(upstream: 0, topic: Array("com.example.app".utf8))],
            upstreams: 1,
            node: seed
        )
        self.machine = GatewayMachine(dispatch) { _, token, payload in
            // Unique in a test: the name, and the length of the payload.
            let name = token.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            return ReplayKey(high: UInt64(payload.count), low: name)
        }
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
        self.at(self.now + time) {
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
