internal import DequeModule
internal import FerryCore
internal import FerryMachine
internal import HeapModule
internal import NIOCore

/// The way from a notification that was read to its last answer, without I/O: jobs, topics, retries.
///
/// ```
///            ┌─────────┐ gate open  ┌───────┐ room  ┌──────────┐ last answer
///   take ───▶│ waiting │───────────▶│ turns │──────▶│ upstream │────────────▶ settled
///            └─────────┘            └───────┘       └──────────┘
///                 ▲         back-off, gate shut           │
///                 └───────────────────────────────────────┘
/// ```
///
/// All notifications that have no last answer are here, whether or not their client still waits: this is the spool.
package struct Dispatch: ~Copyable {
    /// The last answer to a job.
    struct Settled {
        var fate: JobFate
        var first: Job.Reader
        var joined: [Job.Reader]
        /// The segment of the journal that has the job.
        var segment: UInt64
        /// Whether the feedback list has got its token.
        var isGone = false
    }

    struct Due: Comparable {
        var at: NIODeadline
        var job: JobID

        static func < (left: Due, right: Due) -> Bool { left.at < right.at }
    }

    /// The token of a rejected notification, until its rejection was told or is too old.
    struct Rejected {
        var key: KnownBad.Key
        var status: BinaryStatus
    }

    let identities: [GatewayIdentity]
    var routes: [Route]
    let outgoing: [Outgoing]
    var outages: [Outage]
    /// The flows of all clients: those of one client in a row.
    var flows: [TopicFlow]
    /// The first flow of each client.
    let firstFlows: [Int]
    /// For each client, the notifications for tokens without a known topic.
    var guesses: [ConnectionTurns]
    /// For each client, the place of the topic that APNs took last.
    var lastTopics: [Int]
    /// The first half of every `apns-id`: no other gateway has it.
    private let node: UInt64
    /// How far the end has come.
    enum Stage: Sendable {
        case running
        /// Nothing goes to an upstream any more. The next start sends what is left, if it is kept.
        case abandoned(isKept: Bool)
    }

    private(set) var stage = Stage.running

    var jobs: JobTable
    private var room: Room
    /// For each route, the jobs that wait for its gate.
    var held: [Held]
    var delayed = Heap<Due>()
    /// The notifications that an upstream has.
    var underWay = 0
    /// The number of the present ``UnderWay/tick``.
    var tick: UInt32 = 0
    /// When the next begins.
    var nextTickAt = NIODeadline.distantPast
    var knownBad = KnownBad()
    var tokenTopics = TokenTopics()
    var rejected: [JobID: Rejected] = [:]
    var rejectedOrder: Deque<JobID> = []
    var events: [GatewayEvent] = []
    /// The number of the events that ``takeUnlisted()`` has returned.
    private var listedEvents = 0
    var rowChanges: [StoreChange] = []
    /// The jobs that may have arrived, and of which the journal does not know that.
    var doubted: [JobID] = []
    var feedback: FeedbackRows
    package internal(set) var counts = GatewayCounts()

    /// - Parameters:
    ///   - node: a random number, new for each process, or for each store.
    ///   - firstJob: the number of the first job. No job of this node ever had it.
    ///   - upstreams: how many upstreams the routes name.
    ///   - jobLimit: the notifications that may wait for their last answer. A test has fewer.
    ///   - isStored: whether a store keeps the feedback rows.
    package init(
        identities: [GatewayIdentity],
        routes: [Route],
        upstreams: Int,
        node: UInt64,
        firstJob: UInt64 = 1,
        jobLimit: Int = GatewayBounds.Jobs.count,
        isStored: Bool = false
    ) {
        self.identities = identities
        self.routes = routes
        self.outgoing = (0..<upstreams).map { _ in Outgoing() }
        self.outages = (0..<upstreams).map { _ in Outage() }
        var (flows, firstFlows): ([TopicFlow], [Int]) = ([], [])
        for (number, identity) in identities.enumerated() {
            firstFlows.append(flows.count)
            for (topic, route) in identity.routes.enumerated() {
                flows.append(TopicFlow(route: route, topic: topic, identity: number))
            }
        }
        self.flows = flows
        self.firstFlows = firstFlows
        self.guesses = identities.map { _ in ConnectionTurns() }
        self.lastTopics = identities.map { _ in 0 }
        self.held = routes.map { _ in Held() }
        self.node = node
        self.jobs = JobTable(first: firstJob)
        self.room = Room(identities: identities.count, jobs: jobLimit, bytes: GatewayBounds.Jobs.bytes)
        self.feedback = FeedbackRows(isKept: isStored)
    }

    // MARK: What is here

    /// The notifications without a last answer.
    package var jobCount: Int { self.jobs.count }

    /// Whether more may be read.
    package var hasRoom: Bool { self.room.isFree }

    /// Whether more may be read from this client.
    func hasRoom(for identity: Int) -> Bool { self.room.isFree(for: identity) }

    /// Whether new connections of the identity are welcome: it has room, and nothing of it waits at a shut gate. With
    /// nothing that tries the gate, it would stay shut.
    package func isOpen(identity: Int) -> Bool {
        guard self.hasRoom(for: identity) else { return false }
        let flow = self.firstFlows[identity]
        return self.identities[identity].routes.first.map { !self.held[$0].has(flow: flow) } ?? false
    }

    func scope(of job: JobID) -> ReplayScope? { self.jobs[job]?.scope }

    /// The job with this number, while it has no last answer.
    func job(_ id: JobID) -> Job? { self.jobs[id] }

    /// Removes and returns what is to be written down.
    package mutating func takeEvents() -> [GatewayEvent] {
        defer {
            self.events = []
            self.listedEvents = 0
        }
        return self.events
    }

    /// Returns the events since the last call, without removing them. Call it before ``takeEvents()``.
    mutating func takeUnlisted() -> ArraySlice<GatewayEvent> {
        defer { self.listedEvents = self.events.count }
        return self.events[self.listedEvents...]
    }

    /// Removes and returns the jobs that may have arrived, and go out once more.
    mutating func takeDoubted() -> [JobID] {
        guard !self.doubted.isEmpty else { return [] }
        defer { self.doubted = [] }
        return self.doubted
    }

    /// Removes and returns the changes of rows for the store: the gates that are warm.
    mutating func takeRowChanges() -> [StoreChange] {
        guard !self.rowChanges.isEmpty else { return [] }
        defer { self.rowChanges = [] }
        return self.rowChanges
    }

    // MARK: Notifications

    /// Returns the number of the next job.
    mutating func makeID() -> JobID { self.jobs.reserve() }

    /// The topic of the identity's notifications.
    func topic(of identity: Int) -> [UInt8] {
        self.identities[identity].routes.first.map { self.routes[$0].topic } ?? []
    }

    /// Whether some token's refusal was not told.
    var knowsBadTokens: Bool { !self.knownBad.isEmpty }

    /// Returns the status of a token whose refusal was not told. Only APNs' word counts while the route is known to be
    /// good.
    func knownBad(_ token: [UInt8], identity: Int) -> BinaryStatus? {
        guard let route = self.identities[identity].routes.first, self.routes[route].gate.isWarm else { return nil }
        return self.knownBad[.init(route: route, token: token)]
    }

    /// Takes a notification. ``send(_:now:)`` sends it.
    mutating func take(_ job: consuming Job, as id: JobID) {
        let identity = job.scope.identity
        if self.identities[identity].routes.count > 1 {
            let known = self.tokenTopics[.init(identity: identity, token: Array(job.token))]
            job.isGuess = known == nil
            job.firstTopic = known ?? self.lastTopics[identity]
            job.topic = job.firstTopic
        }
        self.room.add(job)
        self.counts.waiting += 1
        self.jobs.insert(job, as: id)
    }

    /// Takes a rejection of an earlier process that nothing has told.
    mutating func restore(_ id: JobID, rejected token: [UInt8], _ status: BinaryStatus, of identity: Int) {
        self.remember(id, identity, token, status)
    }

    /// Changes a job that has no last answer.
    mutating func withJob(_ id: JobID, _ body: (inout Job) -> Void) { self.jobs.change(id, body) }

    /// Notes a copy that gets the job's result.
    mutating func join(_ id: JobID, _ reader: Job.Reader) { self.jobs.change(id) { $0.joined.append(reader) } }

    /// Notes that the client counts the notification as accepted.
    mutating func release(_ id: JobID) {
        guard self.jobs[id]?.isReleased == false else { return }
        self.jobs.change(id) { $0.isReleased = true }
        self.counts.released += 1
    }

    // MARK: The upstream

    /// The `apns-id` of a notification: the same each time that it goes out.
    func apnsID(of id: JobID) -> APNSID { APNSID(node: self.node, number: id.rawValue) }

    /// Sends a notification, as soon as its topic's gate is open. Returns false if the gate is shut.
    @discardableResult
    mutating func send(_ id: JobID, now: Moment) -> Bool {
        guard var job = self.jobs[id] else { return true }
        if job.isGuess {
            let topic = self.lastTopics[job.scope.identity]
            job.topic = topic
            self.jobs.change(id) { $0.topic = topic }
        }
        let flow = self.flow(of: job)
        guard self.routes[self.flows[flow].route].gate.admits(now: now.monotonic) else {
            self.hold(id, flow: flow)
            return false
        }
        self.enqueue(id, job, now: now)
        return true
    }

    /// Takes an outcome. Returns nil if the job is not known, or goes out again.
    ///
    /// - Parameter mayHear: whether an error response may tell the client something.
    mutating func settle(_ id: JobID, _ outcome: Outcome, mayHear: Bool, now: Moment) -> Settled? {
        guard let job = self.jobs[id] else { return nil }
        let route = self.flows[self.flow(of: job)].route
        if let reason = outcome.reason { self.jobs.change(id) { $0.lastReason = reason } }
        self.watch(self.routes[route].upstream, outcome, now: now)
        self.returned(job, id, Verdict(of: outcome), now: now)
        switch Answer(to: outcome) {
        case .accepted:
            self.counts.accepted += 1
            self.accepted(job, route, now: now)
            if !self.feedback.isEmpty { self.feedback.remove(job.token, of: job.scope.identity) }
            return self.end(id, job, .accepted)
        case .gone(let since):
            self.counts.gone += 1
            self.accepted(job, route, now: now)
            let topic = String(decoding: self.routes[route].topic, as: UTF8.self)
            let row = FeedbackRows.Row(token: Array(job.token), since: since ?? now.epochSeconds)
            self.feedback.add(row, of: job.scope.identity)
            self.events.append(.gone(identity: job.scope.identity, topic: topic, token: row.token, since: row.since))
            var settled = self.end(id, job, .accepted)
            settled.isGone = true
            return settled
        case .refused(let status):
            return self.refuse(id, job, route, outcome, status, mayHear: mayHear, now: now)
        case .tryOtherTopic:
            let next = (job.topic + 1) % self.identities[job.scope.identity].routes.count
            guard next != job.firstTopic else {
                return self.refuse(id, job, route, outcome, .invalidToken, mayHear: mayHear, now: now)
            }
            self.jobs.change(id) { $0.topic = next }
            self.avoid(job, next, now: now)
            self.send(id, now: now)
            return nil
        case .retry(let retry):
            return self.retry(id, job, retry, outcome, now: now)
        case .blocked:
            if self.routes[route].gate.blocked(now: now.monotonic) { self.shut(route, outcome.reason, now: now) }
            guard !self.isOver(job, now: now) else { return self.bury(id, job, outcome) }
            self.hold(id, flow: self.flow(of: job))
            return nil
        case .deadLetter:
            return self.bury(id, job, outcome)
        case .expired:
            return self.listExpired(id, job)
        case .unknown:
            return self.doubt(id, job, outcome, now: now)
        }
    }

    /// Notes that APNs knows the token, and the topic.
    private mutating func accepted(_ job: borrowing Job, _ route: Int, now: Moment) {
        self.open(route, now: now)
        let identity = job.scope.identity
        guard self.identities[identity].routes.count > 1 else { return }
        self.tokenTopics.remember(job.topic, for: .init(identity: identity, token: Array(job.token)))
        self.took(job.topic, of: identity, now: now)
    }

    /// Notes whether the upstream takes anything. Only an answer of APNs says so.
    private mutating func watch(_ upstream: Int, _ outcome: Outcome, now: Moment) {
        switch outcome {
        case .accepted(.confirmed):
            if self.outages[upstream].answered() { self.events.append(.outageOver(upstream: upstream)) }
        case .rejected(let rejection) where rejection.origin == .apns:
            guard rejection.status ?? 0 >= 500 else {
                if self.outages[upstream].answered() { self.events.append(.outageOver(upstream: upstream)) }
                return
            }
            if self.outages[upstream].failed(now: now.monotonic) {
                self.events.append(.outage(upstream: upstream, rejection.reason))
            }
        default:
            break
        }
    }

    /// Whether nothing goes to an upstream any more.
    var isAbandoned: Bool { if case .abandoned = self.stage { true } else { false } }

    /// Gives up every notification that the store does not have and no upstream has, so that each stands in the list of
    /// dead letters. Nothing goes to an upstream any more: its answer could be heard too late for the store, and the next
    /// start would send the notification again.
    ///
    /// - Parameter durable: the last segment that the store has; nil: there is no store.
    mutating func abandon(durable: UInt64?) {
        self.stage = .abandoned(isKept: durable != nil)
        for outgoing in self.outgoing {
            for id in outgoing.takeTags() { self.jobs.change(JobID(rawValue: id)) { $0.way = .none } }
        }
        self.giveUp(durable: durable) { $0.isUnderWay }
    }

    /// Gives up every notification that has no answer after the end of the upstreams. Without a store, nothing else is
    /// left of it.
    mutating func giveUpUnanswered() { self.giveUp(durable: nil) { _ in false } }

    private mutating func giveUp(durable: UInt64?, unless isExcepted: (Job) -> Bool) {
        for id in self.jobs.ids {
            guard let job = self.jobs[id], !isExcepted(job) else { continue }
            if let durable, job.segment <= durable { continue }
            _ = self.bury(id, job, .undelivered(.shutDown))
        }
    }

    mutating func end(_ id: JobID, _ job: borrowing Job, _ fate: JobFate) -> Settled {
        self.jobs.remove(id)
        self.room.remove(job)
        return Settled(fate: fate, first: job.first, joined: job.joined, segment: job.segment)
    }
}

extension Outcome {
    /// The reason of a rejection.
    var reason: Reason? { if case .rejected(let rejection) = self { rejection.reason } else { nil } }
}
