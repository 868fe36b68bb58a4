internal import FerryCore
internal import FerryMachine
internal import NIOCore

/// The routes with their gates, and the notifications that wait until their gate opens.
struct Routes: Sendable {
    private var routes: [Route]
    /// The notifications that wait at the gate of each route.
    private var held: [Held]
    /// The routes at whose gate a notification may wait. Reloads leave old routes behind, and a pass over all routes in
    /// each turn would cost time.
    private var waiting: Set<Int> = []
    /// The outage of each upstream.
    private var outages: [Outage]
    private var rowChanges: [StoreChange] = []

    init(_ routes: [Route], upstreams: Int) {
        self.routes = routes
        self.held = routes.map { _ in Held() }
        self.outages = (0..<upstreams).map { _ in Outage() }
    }

    /// Adds routes and upstreams that a reload has brought.
    mutating func grow(_ routes: ArraySlice<Route>, upstreams: Int) {
        self.routes += routes
        self.held += routes.map { _ in Held() }
        while self.outages.count < upstreams { self.outages.append(Outage()) }
    }

    var count: Int { self.routes.count }

    func upstream(of route: Int) -> Int { self.routes[route].upstream }

    func topic(of route: Int) -> [UInt8] { self.routes[route].topic }

    func topicName(of route: Int) -> String { String(decoding: self.routes[route].topic, as: UTF8.self) }

    func isWarm(_ route: Int) -> Bool { self.routes[route].gate.isWarm }

    func isShut(_ route: Int) -> Bool { self.routes[route].gate.isShut }

    /// Removes and returns the changed rows for the store; see ``GateRow``.
    mutating func takeRowChanges() -> [StoreChange] {
        guard !self.rowChanges.isEmpty else { return [] }
        defer { self.rowChanges = [] }
        return self.rowChanges
    }

    // MARK: Gates

    /// Whether a notification may be sent now; see ``TopicGate/admits(now:)``.
    mutating func admits(_ route: Int, now: NIODeadline) -> Bool { self.routes[route].gate.admits(now: now) }

    /// Notes that APNs knows the topic and a token. Returns the notifications that waited if the gate was shut and
    /// opens now; otherwise nil.
    mutating func accepted(_ route: Int, now: UInt32) -> [JobID]? {
        if self.routes[route].gate.isWarm, !self.routes[route].gate.isOld(now: now) { return nil }
        let wasShut = self.routes[route].gate.isShut
        self.routes[route].gate.accepted(now: now)
        if let change = GateRow.warm(self.routes[route], now: now) { self.rowChanges.append(change) }
        return wasShut ? self.held[route].takeAll() : nil
    }

    /// Notes a refused token. Returns whether the gate shuts.
    mutating func refusedToken(_ route: Int, now: NIODeadline) -> Bool {
        self.routes[route].gate.refusedToken(now: now)
    }

    /// Notes that the topic or the credentials were refused. Returns whether the gate shuts.
    mutating func blocked(_ route: Int, _ reason: Reason?, now: NIODeadline) -> Bool {
        self.routes[route].gate.blocked(reason, now: now)
    }

    /// Makes the shut gates of unused routes cold. Returns these routes.
    mutating func leave(except used: Set<Int>) -> [Int] {
        let left = self.routes.indices.filter { self.isShut($0) && !used.contains($0) }
        for route in left { self.routes[route].gate.leave() }
        return left
    }

    // MARK: Waiting notifications

    mutating func hold(_ job: JobID, of flow: Int, at route: Int) {
        self.waiting.insert(route)
        self.held[route].append(job, of: flow)
    }

    /// Removes and returns the notifications of a flow that wait at a gate, because the flow leaves the route, or the
    /// client loses the topic.
    mutating func takeHeld(of flow: Int, at route: Int) -> [JobID] { self.held[route].takeAll(of: flow) }

    /// Whether a notification of the flow waits at the gate.
    func holds(flow: Int, at route: Int) -> Bool { self.held[route].has(flow: flow) }

    func holdsAny(at route: Int) -> Bool { !self.held[route].isEmpty }

    /// The number of notifications that wait at the gates of an upstream.
    func heldCount(by upstream: Int) -> Int {
        zip(self.routes, self.held).reduce(0) { $0 + ($1.0.upstream == upstream ? $1.1.count : 0) }
    }

    /// The topics of an upstream whose gate is shut, each once.
    func shutTopics(of upstream: Int) -> [ShutTopic] {
        self.routes.indices.filter { self.routes[$0].upstream == upstream && self.isShut($0) }.map {
            ShutTopic(topic: self.topicName(of: $0), reason: self.routes[$0].gate.reason, held: self.held[$0].count)
        }
    }

    func hasOutage(_ upstream: Int) -> Bool { self.outages[upstream].isOn }

    /// When the next notification tries a shut gate; nil if no notification waits at one.
    var tryAt: NIODeadline? {
        self.waiting.lazy.filter { !self.held[$0].isEmpty }.compactMap { self.routes[$0].gate.tryAt }.min()
    }

    /// Removes and returns the notifications that try their gates now.
    mutating func takeTries(now: NIODeadline) -> [JobID] {
        guard !self.waiting.isEmpty else { return [] }
        self.waiting = self.waiting.filter { !self.held[$0].isEmpty }
        return self.waiting.sorted().compactMap { route in
            guard let tryAt = self.routes[route].gate.tryAt, tryAt <= now else { return nil }
            return self.held[route].takeOne()
        }
    }

    // MARK: Outages

    /// Notes whether an answer of APNs to a job is a server error (5xx). Returns the beginning or the end of an
    /// outage; nil if no outage begins or ends.
    mutating func watch(
        _ upstream: Int,
        _ job: borrowing Job,
        _ outcome: Outcome,
        now: NIODeadline
    ) -> GatewayEvent? {
        switch outcome {
        case .rejected(let rejection) where rejection.origin == .apns && rejection.status ?? 0 >= 500:
            self.outages[upstream].failed(job.token, now: now) ? .outage(upstream: upstream, rejection.reason) : nil
        case .rejected(let rejection) where rejection.origin != .apns: nil
        case .accepted(.confirmed), .rejected:
            self.outages[upstream].answered() ? .outageOver(upstream: upstream) : nil
        default: nil
        }
    }

    // MARK: Reloads and earlier processes

    /// Changes a client's rows after a reload: the gate of its first topic, and whether the reload removed the client.
    mutating func note(_ identity: ClientIdentity) {
        guard let route = identity.routes.first, let key = GateRow.key(of: self.routes[route]) else { return }
        let (name, isConfigured) = (identity.storeName, identity.isConfigured)
        self.rowChanges.append(StoreChange(.gates, key: GateRow.key(ofClient: name), value: key))
        self.rowChanges.append(
            StoreChange(.gates, key: GateRow.key(ofRemoved: name), value: isConfigured ? nil : key)
        )
    }

    /// Makes the gates warm whose host, topic and credential had an acceptance in an earlier process, at most
    /// ``GateRow/lifetime`` ago.
    ///
    /// - Returns: the store names of the clients whose first topic had another host, credential or name in an earlier
    ///   process.
    mutating func restore(_ rows: [StoreRow], of identities: [ClientIdentity], now: UInt32) -> Set<String> {
        let rows = Dictionary(rows.map { ($0.key, $0.value) }, uniquingKeysWith: { first, _ in first })
        for index in self.routes.indices {
            guard let key = GateRow.key(of: self.routes[index]), let value = rows[key],
                let warmAt = GateRow.time(value, now: now)
            else { continue }
            self.routes[index].gate.accepted(now: warmAt)
        }
        var moved: Set<String> = []
        for identity in identities {
            guard let route = identity.routes.first, let key = GateRow.key(of: self.routes[route]) else { continue }
            let own = GateRow.key(ofClient: identity.storeName)
            guard rows[own] != key else { continue }
            if rows[own] != nil { moved.insert(identity.storeName) }
            self.rowChanges.append(StoreChange(.gates, key: own, value: key))
        }
        return moved
    }
}
