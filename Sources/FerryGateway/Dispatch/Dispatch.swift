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

    let identities: [GatewayIdentity]
    var jobs: Jobs
    var routes: Routes
    var verdicts: Verdicts
    let outgoing: [Outgoing]
    /// The flows of all clients: those of one client in a row.
    var flows: [TopicFlow]
    /// The first flow of each client.
    let firstFlows: [Int]
    /// For each client, the notifications for tokens without a known topic.
    var guesses: [ConnectionTurns]
    /// For each client, the place of the topic that APNs took last.
    var lastTopics: [Int]
    /// How far the end has come.
    enum Stage: Sendable {
        case running
        /// Nothing goes to an upstream any more. The next start sends what is left, if it is kept.
        case abandoned(isKept: Bool)
    }

    private(set) var stage = Stage.running

    var delayed = Heap<Due>()
    /// The notifications that an upstream has.
    var underWay = 0
    /// The number of the present ``UnderWay/tick``.
    var tick: UInt32 = 0
    /// When the next begins.
    var nextTickAt = NIODeadline.distantPast
    var tokenTopics = TokenTopics()
    /// The jobs that may have arrived, and of which the journal does not know that.
    var doubted: [JobID] = []

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
        self.jobs = Jobs(identities: identities.count, node: node, first: firstJob, limit: jobLimit)
        self.routes = Routes(routes, upstreams: upstreams)
        self.verdicts = Verdicts(FeedbackRows(isKept: isStored))
        self.outgoing = (0..<upstreams).map { _ in Outgoing() }
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
    }

    // MARK: What is here

    /// Whether new connections of the identity are welcome: it has room, and nothing of it waits at a shut gate. With
    /// nothing that tries the gate, it would stay shut.
    package func isOpen(identity: Int) -> Bool {
        guard self.jobs.hasRoom(for: identity) else { return false }
        let flow = self.firstFlows[identity]
        return self.identities[identity].routes.first.map { !self.routes.holds(flow: flow, at: $0) } ?? false
    }

    /// Removes and returns the jobs that may have arrived, and go out once more.
    mutating func takeDoubted() -> [JobID] {
        guard !self.doubted.isEmpty else { return [] }
        defer { self.doubted = [] }
        return self.doubted
    }

    // MARK: Notifications

    /// The topic of the identity's notifications.
    func topic(of identity: Int) -> [UInt8] {
        self.identities[identity].routes.first.map { self.routes.topic(of: $0) } ?? []
    }

    /// Returns the status of a token whose refusal was not told. Only APNs' word counts while the route is known to be
    /// good.
    func knownBad(_ token: [UInt8], identity: Int) -> BinaryStatus? {
        guard let route = self.identities[identity].routes.first, self.routes.isWarm(route) else { return nil }
        return self.verdicts.knownBad(token, route: route)
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
        self.verdicts.counts.waiting += 1
        self.jobs.insert(job, as: id)
    }

    /// Notes a copy that gets the job's result.
    mutating func join(_ id: JobID, _ reader: Job.Reader) { self.jobs.change(id) { $0.joined.append(reader) } }

    /// Notes that the client counts the notification as accepted.
    mutating func release(_ id: JobID) {
        guard self.jobs[id]?.isReleased == false else { return }
        self.jobs.change(id) { $0.isReleased = true }
        self.verdicts.counts.released += 1
    }

    // MARK: The upstream

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
        guard self.routes.admits(self.flows[flow].route, now: now.monotonic) else {
            self.hold(id, flow: flow)
            return false
        }
        self.enqueue(id, job, now: now)
        return true
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
}
