internal import DequeModule
package import FerryCore
package import FerryMachine
internal import NIOCore

/// A client of APNs over HTTP/2, without I/O: notifications, bytes, events and time in; bytes, actions, outcomes and
/// events out.
///
/// What becomes of a notification:
///
/// ```
///             submit             write                answer
///   ─────────▶ queued ──────────▶ under way ────────────────────────────────▶ settled
///               ▲ │ deadline,      │  │ │ nothing says what became of it ────▶ settled (uncertain), or queued again
///               │ │ expired,       │  │ └ APNs asks to wait ──▶ delayed ──┐
///               │ ▼ withdrawn      │  │                                   │
///               │ settled          │  └ not processed, new token ──┐      │
///               └──────────────────┴────────────────────────────────┴──────┘
/// ```
package struct HTTP2Client: ProviderMachine, ~Copyable {
    package typealias End = ConnectionEnd

    /// One TLS record: with larger writes, client and server take turns and each idles.
    package static let chunk = 16 << 10
    /// Where so few requests may be under way, each waits for the answer to another.
    static let narrowWindow = 4
    /// How long the answer to a PING may take.
    static let pingLimit: TimeAmount = .seconds(10)
    /// How long a finished connection may take to end.
    static let lingerLimit: TimeAmount = .seconds(5)
    /// "After 15 minutes, you can retry JSON payloads that receive response status codes that begin with 5XX" (Apple).
    /// Then back-off.
    static let serverRetry: ClosedRange<Duration> = .seconds(15 * 60) ... .seconds(4 * 3600)
    /// "You can retry with a delay, if you get the error code TooManyRequests" (Apple, which does not say how long).
    static let deviceRetry: ClosedRange<Duration> = .seconds(1) ... .seconds(60)

    let options: HTTP2Options
    let deadline: TimeAmount
    let attemptTimeout: TimeAmount
    let pingInterval: TimeAmount
    /// `maxStreams`, within its range.
    let maxStreams: Int
    let connectTimeout: TimeAmount
    let usesTokens: Bool
    let authority: String
    var fields: RequestFields
    /// By what right requests are written.
    package internal(set) var authorization: Authorization
    /// The token that APNs refused last, and why, until another is used or it was told that there is none.
    var tokenRefusal: (token: ProviderToken, reason: Reason)?
    package var outcomes = OutcomeLog()
    /// Whether outcomes wait for their reader, so that nothing more may be written.
    package var isPaused = false
    /// Whether anyone wants `transmitted` events, which cost an allocation for each flush.
    package var reportsTransmitted = false
    package private(set) var isShuttingDown = false

    /// What was not attempted yet.
    var fresh = RunQueue()
    /// What is to be sent again now, in the order of submission: so the first is the first to be late.
    var again: Deque<Attempt> = []
    var delayed: DelayQueue
    var connections: [HTTP2Connection] = []
    var earned: EarnedWindow
    var dialing: ConnectionID?
    var waitsToDialUntil: NIODeadline?
    var dialLimiter = DialLimiter()
    var dialBackOff: BackOff
    /// The waits after ENHANCE_YOUR_CALM. A peer may answer before it says that, so an answer ends them only on a
    /// connection that has lasted as long as the longest.
    var calmBackOff: BackOff
    /// Connections in a row without an answer.
    var failures = 0
    /// When the first of them failed.
    var failingSince = NIODeadline.uptimeNanoseconds(0)
    /// When the last connection was begun with.
    var dialedAt = NIODeadline.uptimeNanoseconds(0)
    var breaker: CircuitBreaker
    /// Whether credentials opened the breaker.
    var isBrokenByCredentials = false
    var keys = TokenKeys()
    /// Whether the connections of another key are still to be left.
    var owesLeaving = false
    var pacer: DevicePacer
    var generator: SplitMix64
    private var identifiers: (high: SplitMix64, low: SplitMix64)
    private var steps: [ConnectionStep] = []
    private var events: [ProviderEvent] = []
    private(set) var lastConnectionID: UInt64 = 0
    /// The last connection when work was moved because of UnrelatedKeyIdInToken, until a later one brings another answer.
    var movedFrom: UInt64?
    private var isIncomplete = false

    /// - Parameters:
    ///   - authority: the value of `:authority`.
    ///   - bundleID: the topic of notifications that name none.
    ///   - seed: of the jitter and of the `apns-id`s.
    package init(
        options: HTTP2Options,
        authority: String,
        bundleID: String?,
        usesTokens: Bool,
        seed: UInt64? = nil
    ) {
        self.options = options
        self.deadline = max(TimeAmount(options.deadline), .nanoseconds(1))
        self.attemptTimeout = max(TimeAmount(options.attemptTimeout), .milliseconds(1))
        self.pingInterval = max(TimeAmount(options.pingInterval), .seconds(1))
        self.connectTimeout = TimeAmount(options.connectLimit)
        self.maxStreams = min(max(options.maxStreams, 1), 100_000)
        self.earned = EarnedWindow(limit: self.maxStreams)
        self.usesTokens = usesTokens
        self.authority = authority
        self.fields = RequestFields(
            authority: authority,
            check: RequestCheck(bundleID: bundleID, usesTokens: usesTokens)
        )
        self.authorization = usesTokens ? .held(until: .distantPast) : .certificate
        self.delayed = DelayQueue(limit: options.delayLimit)
        self.dialBackOff = BackOff(options.backOff)
        self.calmBackOff = BackOff(options.backOff)
        self.breaker = CircuitBreaker(options.circuitBreaker)
        self.pacer = DevicePacer(options.devicePacing)
        self.generator = SplitMix64(seed: seed ?? .random(in: .min ... .max))
        // 128 random bits, so that no two providers ever meet.
        self.identifiers = (
            SplitMix64(seed: seed ?? .random(in: .min ... .max)),
            SplitMix64(seed: seed.map { ~$0 } ?? .random(in: .min ... .max))
        )
    }

    // MARK: What there is

    package var queuedCount: Int { self.fresh.count + self.again.count + self.delayed.count }

    /// How many of those wait for a time to come.
    package var delayedCount: Int { self.delayed.count }

    package var unsettledCount: Int { self.connections.reduce(0) { $0 + $1.inFlight.count } }

    /// Whether everything has its outcome.
    package var isSettled: Bool { self.queuedCount == 0 && self.unsettledCount == 0 }

    /// Whether a shutdown is complete: everything settled and every connection gone.
    package var isFinished: Bool {
        self.isShuttingDown && self.isSettled && self.connections.isEmpty && self.dialing == nil
    }

    /// The connection on whose next answer all that is queued waits, where few may be under way; nil otherwise.
    package var bottleneck: ConnectionID? {
        guard self.hasWork, self.connections.count == 1, let connection = self.connections.first else { return nil }
        let isNarrow = (1...Self.narrowWindow).contains(connection.inFlight.count)
        return isNarrow && connection.room == 0 && !connection.isLeaving ? connection.id : nil
    }

    /// Whether something could be written if there were a token.
    package var needsAuthorization: Bool {
        self.usesTokens && self.hasWork && !self.connections.isEmpty
    }

    /// Whether something could be written if there were a connection.
    var hasWork: Bool { !self.fresh.isEmpty || !self.again.isEmpty }

    // MARK: What to do

    // An empty array costs nothing, and one that was handed out is not emptied but replaced.
    package mutating func takeSteps() -> [ConnectionStep] {
        defer { if !self.steps.isEmpty { self.steps = [] } }
        return self.steps
    }

    package mutating func takeEvents() -> [ProviderEvent] {
        defer { if !self.events.isEmpty { self.events = [] } }
        return self.events
    }

    mutating func act(_ step: ConnectionStep) { self.steps.append(step) }

    mutating func report(_ event: ProviderEvent) { self.events.append(event) }

    /// Takes the provider token that is good now, or that there is none.
    package mutating func authorized(_ authorization: Authorization) {
        guard authorization != self.authorization else { return }
        self.authorization = authorization
        guard case .token(let token) = authorization else { return }
        self.fields.authorize(token)
        if self.keys.use(token) { self.owesLeaving = true }
    }

    // MARK: Notifications

    /// Takes notifications. The owner keeps to `queueLimit`.
    package mutating func submit(_ run: BatchRun, now: Moment) {
        guard run.count > 0 else { return }
        self.isIncomplete = true
        var run = run
        run.order = now.monotonic.uptimeNanoseconds
        self.fresh.append(run)
        self.connectIfNeeded(now: now)
    }

    /// Withdraws awaited notifications, by their tags, that are not under way. O(queued).
    package mutating func withdraw(_ tags: Set<UInt64>, now: Moment) {
        func isMeant(_ entry: BatchEntry) -> Bool { entry.fields.isAwaited && tags.contains(entry.tag) }
        for run in self.fresh.remove(where: isMeant) { self.outcomes.give(.undelivered(.cancelled), to: run) }
        var waiting = self.delayed.remove { isMeant($0.run.entries[0]) && !$0.run.entries[0].marks.isTainted }
        let isWithdrawn: (Attempt) -> Bool = { isMeant($0.run.entries[0]) && !$0.run.entries[0].marks.isTainted }
        waiting += self.again.filter(isWithdrawn)
        self.again.removeAll(where: isWithdrawn)
        for attempt in waiting { self.outcomes.give(.undelivered(.cancelled), to: attempt.run) }
        self.checkCompleted(now: now)
    }

    mutating func makeIdentifier() -> APNSID {
        var generator = PairGenerator(high: self.identifiers.high, low: self.identifiers.low)
        let identifier = APNSID.random(using: &generator)
        self.identifiers = (generator.high, generator.low)
        return identifier
    }

    /// Gives an attempt that is not repeated its outcome: what APNs said of it, if anything.
    mutating func giveUp(_ attempt: Attempt, _ cause: Outcome.UndeliveredCause, _ uncertain: Outcome.UncertainCause) {
        if attempt.run.entries[0].marks.isTainted {
            self.outcomes.give(.uncertain(uncertain), to: attempt.run, apnsID: attempt.apnsID)
        } else if let rejection = attempt.rejection {
            self.outcomes.give(.rejected(rejection), to: attempt.run, apnsID: attempt.apnsID)
        } else {
            self.outcomes.give(.undelivered(cause), to: attempt.run, apnsID: attempt.apnsID)
        }
    }

    /// Gives up everything that waits.
    mutating func giveUpQueue(_ cause: Outcome.UndeliveredCause, _ uncertain: Outcome.UncertainCause) {
        for run in self.fresh.removeAll() { self.outcomes.give(.undelivered(cause), to: run) }
        let waiting = Array(self.again) + self.delayed.remove { _ in true }
        self.again.removeAll()
        for attempt in waiting { self.giveUp(attempt, cause, uncertain) }
    }

    mutating func takeConnectionID() -> ConnectionID {
        self.lastConnectionID += 1
        return ConnectionID(self.lastConnectionID)
    }

    // MARK: The end

    /// Sends what was taken and then finishes every connection.
    ///
    /// - Parameter proof: has no meaning: every acceptance is proved.
    package mutating func shutDown(proof: Proof, now: Moment) {
        self.isShuttingDown = true
        self.checkCompleted(now: now)
    }

    /// Gives everything that has no outcome one now, and closes every connection.
    ///
    /// - Parameter handed: how many bytes of the stream below TLS the system took, for each connection.
    package mutating func abandon(
        undelivered: Outcome.UndeliveredCause,
        uncertain: Outcome.UncertainCause,
        handed: (ConnectionID) -> UInt64,
        now: Moment
    ) {
        self.isShuttingDown = true
        for connection in self.connections {
            let handed = handed(connection.id)
            connection.isGone = true
            while let (stream, _) = connection.inFlight.first, let request = connection.inFlight.remove(stream) {
                if let answer = connection.session.answer(of: stream) {
                    self.answered(request, answer, on: connection, now: now)
                } else if connection.mayHaveArrived(stream, request, handed: handed) {
                    self.outcomes.give(.uncertain(uncertain), to: request.attempt.run, apnsID: request.attempt.apnsID)
                } else {
                    self.giveUp(request.attempt, undelivered, uncertain)
                }
            }
            self.act(.close(connection.id))
        }
        let open = self.connections
        self.connections.removeAll()
        for connection in open { self.report(.disconnected(connection.id, open: 0)) }
        if let dialing { self.act(.close(dialing)) }
        self.dialing = nil
        self.giveUpQueue(undelivered, uncertain)
        self.checkCompleted(now: now)
    }

    mutating func checkCompleted(now: Moment) {
        guard self.isSettled else { return }
        if self.isIncomplete {
            self.isIncomplete = false
            self.report(.completed)
        }
        guard self.isShuttingDown else { return }
        if let dialing {
            self.act(.close(dialing))
            self.dialing = nil
        }
        for connection in self.connections { self.leave(connection, now: now) }
    }
}

/// Random numbers from two generators in turn, of 64 bits of state each.
private struct PairGenerator: RandomNumberGenerator {
    var high: SplitMix64
    var low: SplitMix64
    private var isLow = false

    init(high: SplitMix64, low: SplitMix64) {
        self.high = high
        self.low = low
    }

    mutating func next() -> UInt64 {
        defer { self.isLow.toggle() }
        return self.isLow ? self.low.next() : self.high.next()
    }
}
