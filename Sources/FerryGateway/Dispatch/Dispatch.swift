internal import DequeModule
internal import FerryCore
internal import FerryMachine
internal import HeapModule
internal import NIOCore

/// The state of all notifications from their reading to their final answer, without I/O: jobs, topics, retries.
///
/// ```
///            ┌─────────┐ gate open  ┌───────┐ room  ┌──────────┐ final answer
///   take ───▶│ waiting │───────────▶│ turns │──────▶│ upstream │────────────▶ settled
///            └─────────┘            └───────┘       └──────────┘
///                 ▲         back-off, gate shut           │
///                 └───────────────────────────────────────┘
/// ```
///
/// All notifications without a final answer are here, even if their clients count them as accepted. These notifications
/// together are the spool.
package struct Dispatch: ~Copyable {
    /// The final answer to a job.
    struct Settled {
        var fate: JobFate
        var first: Job.Reader
        var joined: [Job.Reader]
        /// The number of the journal's segment with the job; 0 if no segment has it.
        var segment: UInt64
        /// Whether the feedback list got the token.
        var isGone = false
    }

    struct Due: Comparable {
        var at: NIODeadline
        var job: JobID

        static func < (left: Due, right: Due) -> Bool { left.at < right.at }
    }

    var identities: [ClientIdentity]
    var jobs: Jobs
    var routes: Routes
    var verdicts: Verdicts
    var outgoing: [Outgoing]
    /// The flows of all clients. A flow keeps its number, which is its index here, for the life of the process.
    var flows: [TopicFlow]
    /// The flows of each client's topics, in the order of the configuration.
    var active: [[Int]]
    /// The guesses of each client: notifications for tokens without a known topic.
    var guesses: [ConnectionTurns]
    /// The flow with which each client's guesses begin. Usually this flow has the topic that APNs accepted last for
    /// the client.
    var lastFlows: [Int]
    /// Whether notifications still go to the upstreams. The gateway itself has other stages.
    enum Stage: Sendable {
        case running
        /// Nothing more is sent to an upstream. If `isKept`, the store has or gets the notifications without an answer.
        /// Another process then sends these notifications: the next process, or the new owner of the store.
        case abandoned(isKept: Bool)
    }

    private(set) var stage = Stage.running

    var delayed = Heap<Due>()
    /// The number of notifications that are at an upstream, or in a batch for an upstream.
    var underWay = 0
    /// The number of the present ``UnderWay/tick``.
    var tick: UInt32 = 0
    /// When the next tick begins.
    var nextTickAt = NIODeadline.distantPast
    var tokenTopics = TokenTopics()
    /// The jobs that are sent once more although their notifications may have arrived. The journal does not have this
    /// doubt yet; see ``Journal/doubted(_:now:)``.
    var doubted: [JobID] = []
    /// Whether there is a store, which keeps letters.
    let keepsLetters: Bool
    /// The letters of ended jobs that the journal has not noted yet.
    var letters: [Letter] = []

    /// - Parameters:
    ///   - node: a random number, new for each process, or for each store.
    ///   - firstJob: the number of the first job. No job of this node has had this number.
    ///   - upstreams: the number of upstreams. Each ``Route/upstream`` is less than this number.
    ///   - jobLimit: the number of notifications without a final answer at which no more are read. Only tests pass
    ///     another number.
    ///   - isStored: whether there is a store, which keeps the feedback rows and the letters.
    package init(
        identities: [ClientIdentity],
        routes: [Route],
        upstreams: Int,
        node: UInt64,
        firstJob: UInt64 = 1,
        jobLimit: Int = GatewayBounds.Jobs.count,
        isStored: Bool = false
    ) {
        self.identities = identities
        self.keepsLetters = isStored
        self.jobs = Jobs(identities: identities.count, node: node, first: firstJob, limit: jobLimit)
        self.routes = Routes(routes, upstreams: upstreams)
        let feedback = FeedbackRows(in: isStored ? .store : .memory)
        self.verdicts = Verdicts(feedback, clients: identities.count, upstreams: upstreams)
        self.outgoing = (0..<upstreams).map { _ in Outgoing() }
        var (flows, active): ([TopicFlow], [[Int]]) = ([], [])
        for (number, identity) in identities.enumerated() {
            active.append(Array(flows.count..<flows.count + identity.routes.count))
            flows += identity.routes.map { TopicFlow(route: $0, identity: number) }
        }
        self.flows = flows
        self.active = active
        self.guesses = identities.map { _ in ConnectionTurns() }
        self.lastFlows = active.map { $0.first ?? 0 }
    }

    // MARK: State

    /// The reason why new connections of the identity are not accepted; nil if nothing of this identity prevents them.
    /// The shut gate of the first topic prevents them only while a notification waits at the gate. Without a waiting
    /// notification, a new connection must bring one, because only a notification can open the gate.
    ///
    /// The gate is checked before the room, because notifications that wait at a gate fill the room.
    func closedReason(of identity: Int) -> ClosedReason? {
        guard let flow = self.active[identity].first else { return .removed }
        guard !self.routes.holds(flow: flow, at: self.flows[flow].route) else { return .topicRefused }
        return self.jobs.hasRoom(for: identity) ? nil : .noClientRoom
    }

    /// Removes and returns the jobs that may have arrived and are sent once more.
    mutating func takeDoubted() -> [JobID] {
        guard !self.doubted.isEmpty else { return [] }
        defer { self.doubted = [] }
        return self.doubted
    }

    // MARK: Letters

    /// Removes and returns the letters of the jobs that have ended.
    mutating func takeLetters() -> [Letter] {
        defer { self.letters = [] }
        return self.letters
    }

    // MARK: Notifications

    /// The first topic of the identity; empty if the identity has no route.
    func topic(of identity: Int) -> [UInt8] {
        self.identities[identity].routes.first.map { self.routes.topic(of: $0) } ?? []
    }

    /// Returns the status of a known bad token; nil for any other token. While the gate of the identity's first topic
    /// is not warm, also returns nil, because a wrong environment may have caused the refusal.
    func knownBad(_ token: [UInt8], identity: Int) -> BinaryStatus? {
        guard let route = self.identities[identity].routes.first, self.routes.isWarm(route) else { return nil }
        return self.verdicts.knownBad(token, route: route)
    }

    /// Takes a notification, which waits until ``send(_:now:)`` is called.
    mutating func take(_ job: consuming Job, as id: JobID) {
        let identity = job.scope.identity
        job.firstFlow = self.lastFlows[identity]
        if self.identities[identity].routes.count > 1 {
            let known = self.tokenTopics[.init(identity: identity, token: Array(job.token))]
            // A reload may have removed the topic.
            if let known, self.flows[known].isActive { job.firstFlow = known } else { job.isGuess = true }
        }
        job.flow = job.firstFlow
        self.verdicts.count(identity) { $0.waiting += 1 }
        self.jobs.insert(job, as: id)
    }

    /// Notes a copy of the job's notification. The connection of the copy also gets the job's result.
    mutating func join(_ id: JobID, _ reader: Job.Reader) { self.jobs.change(id) { $0.joined.append(reader) } }

    /// Notes that the client counts the notification as accepted, without an answer.
    mutating func release(_ id: JobID) {
        guard let job = self.jobs[id], !job.isReleased else { return }
        self.jobs.change(id) { $0.isReleased = true }
        self.verdicts.count(job.scope.identity) { $0.released += 1 }
    }

    // MARK: The upstream

    /// Queues a notification for its upstream if the gate of its topic admits the notification. Otherwise the
    /// notification waits at the gate, and the function returns false.
    @discardableResult
    mutating func send(_ id: JobID, now: Moment) -> Bool {
        guard var job = self.jobs[id] else {
            assert(self.isAbandoned, "only the end gives up a waiting job")
            return true
        }
        if job.isGuess || !self.flows[job.flow].isActive {
            let isGuess = self.active[job.scope.identity].count > 1
            let flow = self.lastFlows[job.scope.identity]
            job.begin(with: flow)
            job.isGuess = isGuess
            self.jobs.change(id) { job in
                job.begin(with: flow)
                job.isGuess = isGuess
            }
        }
        let flow = job.flow
        guard self.routes.admits(self.flows[flow].route, now: now.monotonic) else {
            self.hold(id, flow: flow)
            return false
        }
        self.enqueue(id, job, now: now)
        return true
    }

    /// Whether the gateway sends nothing more to its upstreams.
    var isAbandoned: Bool { if case .abandoned = self.stage { true } else { false } }

    /// Gives up every notification that is neither in the store nor at an upstream, and lists it as a dead letter.
    /// Sends nothing more to an upstream: the store may not get the answer to a notification that is sent so late.
    /// The next start would then send this notification again.
    ///
    /// - Parameter durable: the last segment that the store has; nil without a store.
    mutating func abandon(durable: UInt64?) {
        self.stop(isKept: durable != nil)
        self.giveUp(durable: durable) { $0.isUnderWay }
    }

    /// Sends nothing more to an upstream.
    ///
    /// - Parameter isKept: whether another process sends the notifications that have no answer.
    mutating func stop(isKept: Bool) {
        self.stage = .abandoned(isKept: isKept)
        self.delayed = Heap()
        for outgoing in self.outgoing {
            for id in outgoing.takeTags() {
                self.jobs.change(JobID(rawValue: id)) { $0.way = .none }
                self.underWay -= 1
                outgoing.underWay -= 1
            }
        }
    }

    /// Gives up every notification without an answer, and lists it as a dead letter. The upstreams must have ended.
    /// Only a gateway without a store calls this function, because a store keeps the notifications for the next
    /// process.
    mutating func giveUpUnanswered() { self.giveUp(durable: nil) { _ in false } }

    private mutating func giveUp(durable: UInt64?, unless isExcepted: (Job) -> Bool) {
        for id in self.jobs.ids {
            guard let job = self.jobs[id], !isExcepted(job) else { continue }
            if let durable, job.storedSegment <= durable { continue }
            _ = self.bury(id, job, .undelivered(.shutDown), now: 0)
        }
        // These notifications leave no letters. If the store takes the commits of their jobs after all, the next start
        // sends the jobs again, and a letter could send each a second time.
        self.letters = []
    }
}
