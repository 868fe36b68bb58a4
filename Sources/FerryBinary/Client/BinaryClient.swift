package import FerryCore
package import FerryMachine
internal import NIOCore

/// A client of the binary protocol, without I/O. Notifications, bytes, events and time go in. Bytes, steps, outcomes
/// and events come out.
///
/// The life of a notification:
///
/// ```
///              submit                 write              silence, proof
///   ─────────▶ queued ──────────────▶ unsettled ───────────────────────▶ settled ──▶ forgotten
///               │  ▲                      │                                │
///    expired,   │  │  followers of an     │ named by an error response     │ late error response
///    withdrawn  │  └─ error, position ────┤                                ├─▶ contradicted
///               ▼     unknown             ▼                                └─▶ queued again, outcome stands
///            settled                   settled (rejected)
/// ```
///
/// `Docs/how-it-works/semantics.md`, "binary client", describes the behaviour.
package struct BinaryClient: ProviderMachine, ~Copyable {
    /// The length of six TLS records.
    package static let chunk = 96 << 10

    package static func chunk(of id: ConnectionID) -> Int { self.chunk }

    /// The stage of the client's life.
    ///
    /// ```
    ///             shutDown, abandon
    ///   running ────────────────────▶ shuttingDown
    /// ```
    enum Stage {
        case running
        /// Nothing more is submitted.
        ///
        /// - Parameter proof: how the client learns the outcome of the last notifications.
        case shuttingDown(Proof)

        /// The proof that the shutdown wants; nil before a shutdown.
        var proof: Proof? { if case .shuttingDown(let proof) = self { proof } else { nil } }
    }

    /// How many settled notifications each connection remembers without their bytes.
    static let stubLimit = 262_144
    /// How many notifications may be unsettled without their bytes under `.evict`.
    static let accountLimit = 8_388_608
    /// How many connections in a row the peer may close without a response and without progress, before the client
    /// searches for the cause.
    static let wordlessLimit = 3
    /// How many connections in a row the peer may speak another protocol, before the client reports that a person must
    /// look.
    static let violationLimit = 3
    /// How long the client waits for the answer to a probe.
    static let probeLimit: TimeAmount = .seconds(30)
    /// The same under ``Proof/automatic``, where silence counts after that time.
    static let automaticProbeLimit: TimeAmount = .seconds(10)
    /// How long the client writes no probe after an unanswered one: the first pause, and the longest.
    static let probePause: ClosedRange<Duration> = .seconds(60) ... .seconds(3600)
    /// How long a finished connection waits for the peer's end of stream. If the settle time is longer, that counts.
    static let lingerLimit: TimeAmount = .seconds(5)

    let options: BinaryOptions
    let idleTimeout: TimeAmount?
    let deadline: TimeAmount?
    /// The topics of the client's certificate; nil for any topic, because the certificate's are unknown.
    ///
    /// The topics are bytes and not strings, because the topic of each notification is compared.
    let topics: [[UInt8]]?
    let lanes: [Lane]
    package var outcomes = OutcomeLog()
    /// This client's copy of ``knownDelay``, which other threads may change.
    private(set) var delay: ErrorDelay
    private let knownDelay: KnownErrorDelay
    var cacheLength: NotificationCache.Length
    var probePermission = ProbePermission(pause: Self.probePause)
    /// The same for the probes of searches.
    var searchProbePermission = ProbePermission(pause: Self.probePause)
    var stage = Stage.running
    /// Whether no further notification may be written; see `ProviderMachine`.
    package var isPaused = false
    /// Whether the program wants `transmitted` events. They cost an allocation for each flush.
    package var reportsTransmitted = false
    var jitter: SplitMix64
    let dials: DialRegister
    /// Whether something was submitted since the last `completed` event.
    var isIncomplete = false
    private var steps: [ConnectionStep] = []
    private var events: [ProviderEvent] = []
    private var order = SubmissionOrder()

    /// - Parameters:
    ///   - topics: the topics of the client's certificate; nil if they are unknown.
    ///   - shared: the state that the clients of all event loops of a provider share.
    ///   - seed: the seed of the jitter between failed connections.
    package init(
        options: BinaryOptions,
        topics: Set<String>? = nil,
        sharing shared: Shared? = nil,
        seed: UInt64 = .random(in: .min ... .max)
    ) {
        let shared = shared ?? Shared(settleTime: options.settleTime)
        self.dials = shared.dials
        self.knownDelay = shared.delay
        self.options = options
        self.topics = topics.map { $0.map { Array($0.utf8) } }
        self.deadline = options.deadline.map { max(TimeAmount($0), .nanoseconds(1)) }
        self.jitter = SplitMix64(seed: seed)
        self.idleTimeout = options.idleTimeout.map { TimeAmount($0) }
        self.cacheLength = NotificationCache.Length(options)
        self.delay = self.knownDelay.current
        let failures = ConnectionFailures(
            limit: RetryLimit(count: options.connectionRetryLimit, time: options.connectionRetryTime),
            waits: options.backOff,
            retriesLastingErrors: options.retriesLastingErrors
        )
        self.lanes = (0..<max(options.maxConnections, 1)).map { _ in Lane(failures: failures) }
    }

    /// The state that the clients of all event loops share: the limit of new connections, and the delay of answers.
    package struct Shared: Sendable {
        let dials = DialRegister()
        let delay: KnownErrorDelay

        package init(settleTime: Duration) {
            self.delay = KnownErrorDelay(settleTime: settleTime)
        }
    }

    // MARK: The delay of error responses

    /// Notes something about the delay, for all clients that share it.
    mutating func noteDelay(now: NIODeadline, _ change: (inout ErrorDelay) -> Void) {
        self.delay = self.knownDelay.update(now: now, change)
    }

    /// Takes the delay that another client has noted. Called before silence settles anything.
    mutating func learnDelay(now: NIODeadline) {
        self.delay = self.knownDelay.changed(since: self.delay) ?? self.delay
        self.delay.decay(now: now)
    }

    // MARK: Queries

    package var queuedCount: Int { self.lanes.reduce(0) { $0 + $1.queue.count } }

    package var unsettledCount: Int { self.lanes.reduce(0) { $0 + $1.connection.cache.unsettledCount } }

    /// Whether every notification has its outcome and no repair is under way.
    package var isSettled: Bool { self.queuedCount == 0 && self.unsettledCount == 0 }

    package var isShuttingDown: Bool { self.stage.proof != nil }

    /// Whether a shutdown is complete: every notification is settled and every connection is closed.
    package var isFinished: Bool {
        self.isShuttingDown && self.isSettled && self.lanes.allSatisfy { $0.connection.id == nil }
    }

    /// How many notifications may be unsettled on a connection; nil when only the cache limits the number.
    package func window(of id: ConnectionID) -> Int? { self.lane(of: id)?.window.size }

    func lane(of id: ConnectionID) -> Lane? { self.lanes.first { $0.connection.id == id } }

    var openCount: Int { self.lanes.reduce(0) { $0 + ($1.connection.establishedID == nil ? 0 : 1) } }

    // MARK: Steps and events

    // An empty array costs nothing. An array that was returned is replaced and not emptied, because emptying would copy
    // it.
    package mutating func takeSteps() -> [ConnectionStep] {
        defer { if !self.steps.isEmpty { self.steps = [] } }
        return self.steps
    }

    package mutating func takeEvents() -> [ProviderEvent] {
        let contradictions = self.outcomes.takeContradictions()
        if !contradictions.isEmpty { self.events += contradictions.map { .contradicted($0) } }
        defer { if !self.events.isEmpty { self.events = [] } }
        return self.events
    }

    mutating func act(_ step: ConnectionStep) { self.steps.append(step) }

    mutating func report(_ event: ProviderEvent) {
        if let error = event.providerError { self.outcomes.failed(error) }
        self.events.append(event)
    }

    // MARK: Notifications

    /// Takes notifications. The owner respects `queueLimit`.
    package mutating func submit(_ run: BatchRun, now: Moment) {
        guard run.count > 0 else { return }
        self.isIncomplete = true
        var run = run
        if run.order == 0 { run.order = self.order.next(now: now) }
        // A run that has an order may have waited elsewhere, and be older than the queued ones.
        self.distribute(run)
        self.connectIfNeeded(now: now)
    }

    /// Withdraws awaited notifications by their tags, unless they were written. O(queued).
    package mutating func withdraw(_ tags: Set<UInt64>, now: Moment) {
        for lane in self.lanes {
            let withdrawn = lane.takeQueued { entry in
                // A repair already has its outcome, and its tag may belong to another notification now.
                entry.fields.isAwaited && !entry.marks.isTainted && !entry.marks.isSettled && tags.contains(entry.tag)
            }
            for run in withdrawn { self.outcomes.give(.undelivered(.cancelled), to: run) }
        }
        self.checkCompleted(now: now)
    }
}
