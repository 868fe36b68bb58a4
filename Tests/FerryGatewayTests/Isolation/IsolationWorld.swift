import FerryBinary
import FerryCore
import FerryMachine
import NIOCore

@testable import FerryGateway

/// A gateway machine in virtual time, clients that write at their own pace, and an APNs that closes connections on which it
/// refuses many tokens in a row.
///
/// ```
///   client A ──▶                  ──▶ common connection ──▶
///                 GatewayMachine                             APNs
///   client B ──▶                  ──▶ side connections  ──▶
/// ```
final class IsolationWorld {
    /// How APNs ends a connection with many refusals.
    enum Close: CustomStringConvertible {
        case never
        /// A GOAWAY that names the last refused one: what comes behind it was not processed.
        case goAway(after: Int)
        /// Without a word: what is under way may have arrived.
        case wordless(after: Int)

        var limit: Int {
            switch self {
            case .never: .max
            case .goAway(let limit), .wordless(let limit): limit
            }
        }

        var description: String {
            switch self {
            case .never: "never closes"
            case .goAway(let limit): "GOAWAY after \(limit)"
            case .wordless(let limit): "closes without a word after \(limit)"
            }
        }
    }

    /// A client that writes `count` notifications, one each `pause`, as far as the gateway reads.
    struct Client {
        var count: Int
        var pause: TimeAmount
        /// The place of the notification's topic at APNs; nil: its token is bad.
        var topic: (Int) -> Int?
        var start: TimeAmount = .zero
    }

    /// What came of a client's notifications.
    struct Result {
        var times: [TimeAmount] = []
        var firstAccepted: TimeAmount?
        var refused = 0
        var uncertain = 0
        var deadLetters = 0

        /// The time in which 99 of 100 were accepted.
        var p99: TimeAmount {
            let sorted = self.times.sorted()
            return sorted.isEmpty ? .hours(24) : sorted[min(sorted.count * 99 / 100, sorted.count - 1)]
        }
    }

    private final class Link {
        let number: Int
        var readyAt: NIODeadline
        var refusedInARow = 0
        var isClosed = false

        init(_ number: Int, readyAt: NIODeadline) {
            self.number = number
            self.readyAt = readyAt
        }
    }

    static let halfRoundTrip: TimeAmount = .milliseconds(10)
    private static let dial: TimeAmount = .milliseconds(60)
    private static let topics = ["com.example.first", "com.example.second"]

    let simulation = Simulation()
    let machine: GatewayMachine
    private let close: Close
    private let clients: [Client]
    private(set) var results: [Result]
    /// For each client, how many it has written and when.
    private var written: [Int]
    private var writtenAt: [[NIODeadline]]
    private var connections: [ConnectionID] = []
    private var isRead: [Bool]
    private var links: [UpstreamWay: Link] = [:]
    /// Connections to APNs that were opened, and the most at a time.
    private(set) var dials = 0
    private(set) var closes = 0
    /// How often APNs closed the connection that all clients share.
    private(set) var commonCloses = 0
    /// The requests that were refused on it.
    private(set) var commonRefusals = 0
    /// For each client, what happens to a notification that arrives for the first time, although its connection lives on.
    var trouble: (_ client: Int, _ index: Int) -> Outcome.UncertainCause? = { _, _ in nil }
    /// For each client, whether APNs answers a notification with a server error.
    var fails: (_ client: Int, _ index: Int) -> Bool = { _, _ in false }
    /// For each client, the server errors on the connection that all clients share.
    private(set) var commonErrors: [Int]
    /// The connections over which each notification arrived, by client and place.
    private(set) var paths: [[Int: [Int]]]
    private(set) var refusedRequests = 0

    init(_ clients: [Client], _ close: Close, isWarm: Bool, secondTopic: Bool = false, repeatsUnknown: Bool = true) {
        self.clients = clients
        self.close = close
        self.results = clients.map { _ in Result() }
        self.paths = clients.map { _ in [:] }
        self.commonErrors = clients.map { _ in 0 }
        self.written = clients.map { _ in 0 }
        self.writtenAt = clients.map { _ in [] }
        self.isRead = clients.map { _ in true }
        var routes: [Route] = []
        let identities = clients.indices.map { number in
            let first = routes.count
            for topic in Self.topics.prefix(secondTopic ? 2 : 1) {
                var route = Route(upstream: 0, topic: Array("\(topic)\(number)".utf8))
                if isWarm { route.gate.accepted(now: 1_700_000_000) }
                routes.append(route)
            }
            var identity = ClientIdentity(name: "\(number)", routes: Array(first..<routes.count))
            identity.resends = false
            identity.repeatsUnknown = repeatsUnknown
            return identity
        }
        let dispatch = Dispatch(identities: identities, routes: routes, upstreams: 1, node: 1)
        self.machine = GatewayMachine(dispatch) { _, token, _ in
            ReplayKey(high: 0, low: token.reduce(0) { $0 << 8 | UInt64($1) })
        }
        for number in clients.indices {
            self.connections.append(
                self.machine.connected(identity: number, address: [192, 0, 2, UInt8(number)], now: self.moment)
            )
            self.simulation.after(clients[number].start) { self.write(number) }
        }
    }

    var moment: Moment {
        let seconds = (self.simulation.now - Simulation.start).nanoseconds / 1_000_000_000
        return Moment(monotonic: self.simulation.now, epochSeconds: 1_700_000_000 + UInt32(seconds))
    }

    /// Runs until everything has its final answer, `limit` at most. Returns how long it took.
    func run(atMost limit: TimeAmount) -> TimeAmount {
        let begin = self.simulation.now
        while self.simulation.now < begin + limit {
            self.simulation.run(
                until: self.simulation.now + .milliseconds(100),
                nextDeadline: { self.machine.nextDeadline },
                timePassed: { self.machine.timePassed(now: self.moment) },
                afterEach: { self.carryOut() }
            )
            if self.machine.jobCount == 0, self.written == self.clients.map(\.count) { break }
        }
        return self.simulation.now - begin
    }

    // MARK: Clients

    private func write(_ number: Int) {
        let client = self.clients[number]
        // A client that may write at once fills what the gateway reads in a millisecond.
        let isFlood = client.pause == .zero
        var bytes = ByteBuffer()
        for _ in 0..<(isFlood ? 20 : 1) where self.isRead[number] && self.written[number] < client.count {
            let index = self.written[number]
            bytes.writeMultipleIntegers(UInt8(1), UInt32(1), UInt32(0), UInt16(8), UInt32(number), UInt32(index))
            bytes.writeInteger(UInt16(10))
            bytes.writeString(#"{"aps":{}}"#)
            self.writtenAt[number].append(self.simulation.now)
            self.written[number] += 1
        }
        if bytes.readableBytes > 0 { self.machine.received(self.connections[number], bytes, now: self.moment) }
        guard self.written[number] < client.count else { return }
        self.simulation.after(isFlood ? .milliseconds(1) : client.pause) { self.write(number) }
    }

    private func carryOut() {
        for action in self.machine.takeActions() {
            guard let number = self.connections.firstIndex(of: action.connection) else { continue }
            if case .read(let isRead) = action.work { self.isRead[number] = isRead }
        }
        self.machine.withBatches(for: 0) { way, batch in
            while let next = batch.popFirst() { self.write(next, over: way) }
        }
        for id in self.machine.takeEndedSides(of: 0) { self.links[.side(id)] = nil }
        for event in self.machine.takeEvents() {
            switch event {
            case .refused(let refusal): self.results[refusal.identity].refused += 1
            case .deadLetter(let refusal): self.results[refusal.identity].deadLetters += 1
            case .uncertain(let item, _): self.results[item.identity].uncertain += 1
            default: break
            }
        }
    }

    // MARK: APNs

    /// Ends a connection without a word.
    func cut(_ way: UpstreamWay) {
        guard let link = self.links[way] else { return }
        self.end(link, way)
    }

    private func end(_ link: Link, _ way: UpstreamWay) {
        link.isClosed = true
        self.closes += 1
        guard case .side(let id) = way else {
            self.commonCloses += 1
            return
        }
        self.simulation.after(Self.halfRoundTrip) { self.machine.lost(id, now: self.moment) }
    }

    private func link(_ way: UpstreamWay) -> Link {
        if let link = self.links[way], !link.isClosed { return link }
        let link = Link(self.dials, readyAt: self.simulation.now + Self.dial)
        self.links[way] = link
        self.dials += 1
        return link
    }

    private func write(_ submission: Submission, over way: UpstreamWay) {
        let link = self.link(way)
        self.simulation.at(max(self.simulation.now, link.readyAt) + Self.halfRoundTrip) {
            self.arrived(submission, link, way)
        }
    }

    private func arrived(_ submission: Submission, _ link: Link, _ way: UpstreamWay) {
        guard !link.isClosed else {
            self.simulation.after(Self.halfRoundTrip) {
                if case .goAway = self.close { return self.write(submission, over: way) }
                self.answer(submission, .uncertain(.positionUnknown))
            }
            return
        }
        let (number, index) = Self.name(submission.device.bytes)
        self.paths[number][index, default: []].append(link.number)
        if self.paths[number][index]?.count == 1, let cause = self.trouble(number, index) {
            return self.simulation.after(Self.halfRoundTrip) { self.answer(submission, .uncertain(cause)) }
        }
        if self.fails(number, index) {
            if case .common = way { self.commonErrors[number] += 1 }
            let error = Outcome.rejected(Rejection(reason: .internalServerError, origin: .apns, status: 500))
            return self.simulation.after(Self.halfRoundTrip) { self.answer(submission, error) }
        }
        let outcome = self.outcome(submission)
        if outcome == .accepted(.confirmed) {
            link.refusedInARow = 0
        } else {
            link.refusedInARow += 1
            self.refusedRequests += 1
            if case .common = way { self.commonRefusals += 1 }
        }
        self.simulation.after(Self.halfRoundTrip) { self.answer(submission, outcome) }
        if link.refusedInARow >= self.close.limit { self.end(link, way) }
    }

    private func outcome(_ submission: Submission) -> Outcome {
        let (number, index) = Self.name(submission.device.bytes)
        guard let topic = self.clients[number].topic(index) else {
            return .rejected(Rejection(reason: .badDeviceToken, origin: .apns, status: 400))
        }
        guard submission.notification.topic == "\(Self.topics[topic])\(number)" else {
            return .rejected(Rejection(reason: .deviceTokenNotForTopic, origin: .apns, status: 400))
        }
        return .accepted(.confirmed)
    }

    private func answer(_ submission: Submission, _ outcome: Outcome) {
        self.machine.settled([OutcomeRecord(tag: submission.tag, outcome: outcome)], now: self.moment)
        guard outcome == .accepted(.confirmed) else { return }
        let (number, index) = Self.name(submission.device.bytes)
        self.results[number].times.append(self.simulation.now - self.writtenAt[number][index])
        let first = self.results[number].firstAccepted
        self.results[number].firstAccepted = first ?? self.simulation.now - Simulation.start
    }

    private static func name(_ token: [UInt8]) -> (client: Int, index: Int) {
        let number = token.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return (Int(number >> 32), Int(number & 0xffff_ffff))
    }
}
