internal import DequeModule
internal import FerryBinary
package import FerryCore
internal import FerryMachine
internal import HeapModule
package import NIOCore

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

    private struct Due: Comparable {
        var at: NIODeadline
        var job: JobID

        static func < (left: Due, right: Due) -> Bool { left.at < right.at }
    }

    /// What waits for an upstream to take it.
    private final class Outgoing {
        var turns: Turns
        /// What goes next.
        var batch = PushBatch()

        init(identities: Int) { self.turns = Turns(identities: identities) }

        func append(_ job: Job, topic: [UInt8], as apnsID: APNSID, tag: UInt64) {
            let isTaken = job.bytes.withUnsafeBufferPointer { bytes in
                topic.withUnsafeBufferPointer { topic in
                    self.batch.append(
                        token: UnsafeBufferPointer(rebasing: bytes[..<job.tokenLength]),
                        payload: UnsafeBufferPointer(rebasing: bytes[job.tokenLength...]),
                        topic: topic,
                        collapseID: UnsafeBufferPointer(start: nil, count: 0),
                        apnsID: apnsID,
                        pushType: nil,
                        priority: Priority(rawValue: job.priority),
                        expiration: Expiration(epochSeconds: job.expiration),
                        tag: tag
                    )
                }
            }
            assert(isTaken, "a batch has room for a few turns")
        }
    }

    /// The token of a rejected notification, until its rejection was told or is too old.
    private struct Rejected {
        var key: KnownBad.Key
        var status: BinaryStatus
    }

    let identities: [GatewayIdentity]
    private var routes: [Route]
    private let outgoing: [Outgoing]
    private var outages: [Outage]
    /// The first half of every `apns-id`: no other gateway has it.
    private let node: UInt64
    /// Whether a notification that may have arrived goes out again.
    private let repeatsUnknown: Bool
    private let jobLimit: Int
    /// Whether a notification that may have arrived stays in the store.
    private var keepsUnknown = false

    private var jobs: JobTable
    private var byteCount = 0
    /// The jobs that wait for their route's gate.
    private var held: [Deque<JobID>]
    private var delayed = Heap<Due>()
    private var knownBad = KnownBad()
    private var tokenTopics = TokenTopics()
    private var rejected: [JobID: Rejected] = [:]
    private var rejectedOrder: Deque<JobID> = []
    private var events: [GatewayEvent] = []
    /// How many of the events ``takeUnlisted()`` has returned.
    private var listedEvents = 0
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
        repeatsUnknown: Bool = false,
        jobLimit: Int = DispatchBounds.jobs,
        isStored: Bool = false
    ) {
        self.identities = identities
        self.routes = routes
        self.outgoing = (0..<upstreams).map { _ in Outgoing(identities: identities.count) }
        self.outages = (0..<upstreams).map { _ in Outage() }
        self.held = routes.map { _ in [] }
        self.node = node
        self.jobs = JobTable(first: firstJob)
        self.repeatsUnknown = repeatsUnknown
        self.jobLimit = jobLimit
        self.feedback = FeedbackRows(isKept: isStored)
    }

    // MARK: What is here

    /// The notifications without a last answer.
    package var jobCount: Int { self.jobs.count }

    /// Whether more may be read.
    package var hasRoom: Bool { self.jobs.count < self.jobLimit && self.byteCount < DispatchBounds.bytes }

    /// Whether new connections of the identity are welcome: its first topic is not refused.
    package func isOpen(identity: Int) -> Bool {
        self.identities[identity].routes.first.map { !self.routes[$0].gate.isShut } ?? false
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

    /// Hands the next notifications for an upstream to `body`, as often as it takes all of them.
    package mutating func withBatch(for upstream: Int, _ body: (inout PushBatch) -> Void) {
        let outgoing = self.outgoing[upstream]
        repeat {
            while outgoing.batch.count < DispatchBounds.batch, !outgoing.turns.isEmpty {
                outgoing.turns.takeTurn { self.goOut($0, outgoing) }
            }
            guard !outgoing.batch.isEmpty else { return }
            body(&outgoing.batch)
        } while outgoing.batch.isEmpty
    }

    private mutating func goOut(_ id: JobID, _ outgoing: Outgoing) {
        // It may have been given up meanwhile.
        guard let job = self.jobs[id] else { return }
        if job.attempts == 0 {
            self.counts.waiting -= 1
            self.counts.forwarded += 1
        }
        self.jobs[id]?.attempts += 1
        let route = self.identities[job.scope.identity].routes[job.topic]
        outgoing.append(job, topic: self.routes[route].topic, as: self.apnsID(of: id), tag: id.rawValue)
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
        if !self.tokenTopics.isEmpty {
            job.firstTopic = self.tokenTopics[.init(identity: job.scope.identity, token: Array(job.token))]
            job.topic = job.firstTopic
        }
        self.byteCount += job.bytes.count
        self.counts.waiting += 1
        self.jobs.insert(job, as: id)
    }

    /// Takes a rejection of an earlier process that nothing has told.
    mutating func restore(_ id: JobID, rejected token: [UInt8], _ status: BinaryStatus, of identity: Int) {
        self.remember(id, identity, token, status)
    }

    /// Changes a job that has no last answer.
    mutating func withJob(_ id: JobID, _ body: (inout Job) -> Void) {
        guard var job = self.jobs[id] else { return }
        body(&job)
        self.jobs[id] = job
    }

    /// Notes a copy that gets the job's result.
    mutating func join(_ id: JobID, _ reader: Job.Reader) { self.jobs[id]?.joined.append(reader) }

    /// Notes a notification that the gateway refused itself.
    ///
    /// - Parameters:
    ///   - reason: nil: the one that the status stands for.
    ///   - isNamed: whether it has an identifier: without one, no error response can tell its refusal.
    mutating func refuse(
        _ identity: Int,
        token: [UInt8]?,
        _ status: BinaryStatus,
        _ reason: Reason? = nil,
        isNamed: Bool,
        as id: JobID?
    ) {
        self.counts.refusedHere += 1
        let reason = reason ?? Reason(binaryStatus: status.rawValue)
        self.list(identity, token, reason, isNamed ? status : nil, apnsID: nil)
        if let id, let token { self.remember(id, identity, token, status) }
    }

    /// Notes a notification to a token whose refusal was not told.
    mutating func refuseKnownBad(
        _ identity: Int,
        token: [UInt8],
        _ status: BinaryStatus,
        isNamed: Bool,
        as id: JobID
    ) {
        self.counts.knownBad += 1
        if let route = self.identities[identity].routes.first {
            self.knownBad.remove(.init(route: route, token: token))
        }
        self.list(identity, token, Reason(binaryStatus: status.rawValue), isNamed ? status : nil, apnsID: nil)
        self.remember(id, identity, token, status)
    }

    /// Notes that the client counts the notification as accepted.
    mutating func release(_ id: JobID) {
        guard self.jobs[id]?.isReleased == false else { return }
        self.jobs[id]?.isReleased = true
        self.counts.released += 1
    }

    /// Notes that no error response will tell this rejection: the next push to the token may.
    mutating func deferRejection(of id: JobID?) {
        self.counts.deferred += 1
        guard let id, let rejected = self.rejected.removeValue(forKey: id) else { return }
        self.knownBad.insert(rejected.key, rejected.status)
    }

    // MARK: The upstream

    /// The `apns-id` of a notification: the same each time that it goes out.
    private func apnsID(of id: JobID) -> APNSID { APNSID(node: self.node, number: id.rawValue) }

    /// Sends a notification, as soon as its topic's gate is open.
    mutating func send(_ id: JobID, now: Moment) {
        guard let job = self.jobs[id] else { return }
        let route = self.identities[job.scope.identity].routes[job.topic]
        guard self.routes[route].gate.admits(now: now.monotonic) else {
            self.held[route].append(id)
            return
        }
        let upstream = self.outgoing[self.routes[route].upstream]
        upstream.turns.append(id, of: job.scope.identity, on: job.first.connection)
    }

    /// Takes an outcome. Returns nil if the job is not known, or goes out again.
    mutating func settle(_ id: JobID, _ outcome: Outcome, now: Moment) -> Settled? {
        guard let job = self.jobs[id] else { return nil }
        let identity = job.scope.identity
        let route = self.identities[identity].routes[job.topic]
        if let reason = outcome.reason { self.jobs[id]?.lastReason = reason }
        self.watch(self.routes[route].upstream, outcome, now: now)
        switch Answer(to: outcome) {
        case .accepted:
            self.counts.accepted += 1
            self.open(route, now: now)
            if job.topic != job.firstTopic {
                self.tokenTopics.remember(job.topic, for: .init(identity: identity, token: Array(job.token)))
            }
            if !self.feedback.isEmpty { self.feedback.remove(job.token, of: identity) }
            return self.end(id, job, .accepted)
        case .gone(let since):
            self.counts.gone += 1
            self.open(route, now: now)
            let topic = String(decoding: self.routes[route].topic, as: UTF8.self)
            let row = FeedbackRows.Row(token: Array(job.token), since: since ?? now.epochSeconds)
            self.feedback.add(row, of: identity)
            self.events.append(.gone(identity: identity, topic: topic, token: row.token, since: row.since))
            var settled = self.end(id, job, .accepted)
            settled.isGone = true
            return settled
        case .refused(let status):
            return self.refuse(id, job, route, outcome, status, now: now)
        case .tryOtherTopic:
            let next = (job.topic + 1) % self.identities[identity].routes.count
            guard next != job.firstTopic else {
                return self.refuse(id, job, route, outcome, .invalidToken, now: now)
            }
            self.jobs[id]?.topic = next
            self.send(id, now: now)
            return nil
        case .retry(let retry):
            return self.retry(id, job, retry, outcome, now: now)
        case .blocked:
            if self.routes[route].gate.blocked(now: now.monotonic) {
                self.alarm(route, outcome.reason)
            }
            return self.isOver(job, now: now) ? self.bury(id, job, outcome) : self.hold(id, route)
        case .deadLetter:
            return self.bury(id, job, outcome)
        case .expired:
            self.counts.expired += 1
            return self.end(id, job, .accepted)
        case .unknown:
            // The upstream is shut down. The next start sends what may have arrived, as after a kill.
            guard !self.keepsUnknown else { return nil }
            guard self.repeatsUnknown, job.doubts < DispatchBounds.unknownCopies else {
                self.counts.unknown += 1
                return self.end(id, job, .accepted)
            }
            self.jobs[id]?.doubts += 1
            self.counts.copies += 1
            self.send(id, now: now)
            return nil
        }
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

    private mutating func refuse(
        _ id: JobID,
        _ job: Job,
        _ route: Int,
        _ outcome: Outcome,
        _ status: BinaryStatus,
        now: Moment
    ) -> Settled {
        self.counts.refused += 1
        let isToken = status == .invalidToken
        if isToken, self.routes[route].gate.refusedToken(now: now.monotonic) { self.alarm(route, .badDeviceToken) }
        // While nothing was accepted, a refused token may be the sign of a wrong environment: the client must not hear.
        let isTold = !isToken || self.routes[route].gate.isWarm
        self.list(
            job.scope.identity,
            Array(job.token),
            outcome.reason ?? .unknown,
            isTold && job.isNamed ? status : nil,
            apnsID: self.apnsID(of: id)
        )
        self.remember(id, job.scope.identity, Array(job.token), status)
        guard isTold else {
            self.deferRejection(of: id)
            return self.end(id, job, .accepted)
        }
        return self.end(id, job, .rejected(status))
    }

    private mutating func retry(
        _ id: JobID,
        _ job: Job,
        _ retry: Answer.Retry,
        _ outcome: Outcome,
        now: Moment
    ) -> Settled? {
        if let end = self.expire(id, job, now: now) { return end }
        guard !self.isOver(job, now: now) else { return self.bury(id, job, outcome) }
        let (first, last) =
            switch retry {
            case .later: (DispatchBounds.firstRetry, DispatchBounds.lastRetry)
            case .deviceIsBusy: (DispatchBounds.firstBusyRetry, DispatchBounds.lastBusyRetry)
            }
        let pause = min(TimeAmount.nanoseconds(first.nanoseconds << min(job.attempts - 1, 16)), last)
        self.delayed.insert(Due(at: now.monotonic + pause, job: id))
        return nil
    }

    private mutating func hold(_ id: JobID, _ route: Int) -> Settled? {
        self.held[route].append(id)
        return nil
    }

    /// Drops a notification whose expiration passed here; nil: it has not.
    private mutating func expire(_ id: JobID, _ job: Job, now: Moment) -> Settled? {
        guard job.expiration > 0, job.expiration <= now.epochSeconds else { return nil }
        self.counts.expired += 1
        if job.attempts == 0 { self.dropUnsent() }
        return self.end(id, job, .accepted)
    }

    private func isOver(_ job: Job, now: Moment) -> Bool {
        job.expiration == 0 && now.monotonic - job.readAt > DispatchBounds.lifetime
    }

    private mutating func bury(_ id: JobID, _ job: Job, _ outcome: Outcome) -> Settled {
        self.counts.deadLetters += 1
        if job.attempts == 0 { self.dropUnsent() }
        self.events.append(
            .deadLetter(
                .init(
                    identity: job.scope.identity,
                    token: Array(job.token),
                    reason: outcome.reason ?? job.lastReason ?? .unknown,
                    status: nil,
                    apnsID: self.apnsID(of: id)
                )
            )
        )
        return self.end(id, job, .accepted)
    }

    /// Gives up every notification that the store does not have, so that each stands in the list of dead letters.
    ///
    /// - Parameter durable: the last segment that the store has; nil: there is no store.
    mutating func abandon(durable: UInt64?) {
        self.keepsUnknown = durable != nil
        // With a store, what goes out is durable.
        if durable == nil { for outgoing in self.outgoing { outgoing.batch.removeAll() } }
        for id in self.jobs.ids {
            guard let job = self.jobs[id] else { continue }
            if let durable, job.segment <= durable { continue }
            _ = self.bury(id, job, .undelivered(.shutDown))
        }
    }

    private mutating func dropUnsent() {
        self.counts.waiting -= 1
        self.counts.droppedUnsent += 1
    }

    private mutating func end(_ id: JobID, _ job: Job, _ fate: JobFate) -> Settled {
        self.jobs.remove(id)
        self.byteCount -= job.bytes.count
        return Settled(fate: fate, first: job.first, joined: job.joined, segment: job.segment)
    }

    // MARK: Gates and lists

    /// Notes that APNs knows the topic and a token.
    private mutating func open(_ route: Int, now: Moment) {
        guard !self.routes[route].gate.isWarm else { return }
        let wasShut = self.routes[route].gate.isShut
        self.routes[route].gate.accepted()
        guard wasShut else { return }
        let topic = String(decoding: self.routes[route].topic, as: UTF8.self)
        self.events.append(.allClear(upstream: self.routes[route].upstream, topic: topic))
        let waiting = self.held[route]
        self.held[route] = []
        for id in waiting { self.send(id, now: now) }
    }

    private mutating func alarm(_ route: Int, _ reason: Reason?) {
        let topic = String(decoding: self.routes[route].topic, as: UTF8.self)
        self.events.append(.alarm(upstream: self.routes[route].upstream, topic: topic, reason))
    }

    private mutating func list(
        _ identity: Int,
        _ token: [UInt8]?,
        _ reason: Reason,
        _ status: BinaryStatus?,
        apnsID: APNSID?
    ) {
        self.events.append(
            .refused(.init(identity: identity, token: token, reason: reason, status: status, apnsID: apnsID))
        )
    }

    private mutating func remember(_ id: JobID, _ identity: Int, _ token: [UInt8], _ status: BinaryStatus) {
        // Only a refused token says something about the next push to it.
        guard status == .invalidToken, let route = self.identities[identity].routes.first else { return }
        self.rejected[id] = Rejected(key: .init(route: route, token: token), status: status)
        self.rejectedOrder.append(id)
        guard self.rejectedOrder.count > DispatchBounds.rejections, let oldest = self.rejectedOrder.popFirst() else {
            return
        }
        self.rejected[oldest] = nil
    }

    // MARK: Time

    /// When to call ``timePassed(now:)``; nil: only outcomes change anything.
    package var nextDeadline: NIODeadline? {
        var next = self.delayed.min?.at
        for (route, waiting) in zip(self.routes, self.held) where !waiting.isEmpty {
            guard let tryAt = route.gate.tryAt else { continue }
            next = next.map { min($0, tryAt) } ?? tryAt
        }
        return next
    }

    /// Sends what is due; returns what expired meanwhile.
    mutating func timePassed(now: Moment) -> [(JobID, ReplayScope, Settled)] {
        var expired: [(JobID, ReplayScope, Settled)] = []
        while let due = self.delayed.min, due.at <= now.monotonic {
            self.delayed.removeMin()
            self.sendUnlessExpired(due.job, now: now, &expired)
        }
        for route in self.routes.indices {
            guard let tryAt = self.routes[route].gate.tryAt, tryAt <= now.monotonic else { continue }
            guard let id = self.held[route].popFirst() else { continue }
            self.sendUnlessExpired(id, now: now, &expired)
        }
        return expired
    }

    private mutating func sendUnlessExpired(
        _ id: JobID,
        now: Moment,
        _ expired: inout [(JobID, ReplayScope, Settled)]
    ) {
        guard let job = self.jobs[id] else { return }
        if let end = self.expire(id, job, now: now) {
            expired.append((id, job.scope, end))
        } else {
            self.send(id, now: now)
        }
    }
}

extension Outcome {
    /// The reason of a rejection.
    fileprivate var reason: Reason? { if case .rejected(let rejection) = self { rejection.reason } else { nil } }
}
