package import FerryCore
package import FerryMachine
internal import NIOCore

/// A client of the legacy binary protocol, without I/O: notifications, bytes, events and time in; bytes, actions,
/// outcomes and events out.
///
/// What becomes of a notification:
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
/// Everything follows `binary client` semantics as `Docs/semantics.md` describes them.
package struct BinaryClient: ProviderMachine, ~Copyable {
    package typealias End = ConnectionEnd

    /// Six TLS records.
    package static let chunk = 96 << 10

    /// How far the life of the client is.
    ///
    /// ```
    ///             shutDown, abandon
    ///   running ────────────────────▶ shuttingDown
    /// ```
    enum Stage {
        case running
        /// Nothing more is submitted.
        ///
        /// - Parameter proof: how the client finds out what became of the last notifications.
        case shuttingDown(Proof)

        /// Nil while no shutdown was asked for.
        var proof: Proof? { if case .shuttingDown(let proof) = self { proof } else { nil } }
    }

    /// How many notifications without bytes each connection remembers after they were settled.
    static let stubLimit = 262_144
    /// How many notifications without bytes may be unsettled under `.evict`.
    static let accountLimit = 8_388_608
    /// Connections in a row that the peer closes without a word and without progress, until the cause is isolated.
    static let wordlessLimit = 3
    /// Connections in a row on which the peer speaks something else, until that needs a person.
    static let violationLimit = 3
    /// How long a probe may remain without an answer.
    static let probeLimit: TimeAmount = .seconds(30)
    /// The same where silence counts after it, under ``Proof/automatic``.
    static let automaticProbeLimit: TimeAmount = .seconds(10)
    /// How long no probe is written after one that was not answered: the first time, and at most.
    static let probePause: ClosedRange<Duration> = .seconds(60) ... .seconds(3600)
    /// How long a finished connection waits for the peer's end of stream, or for the settle time if that is longer.
    static let lingerLimit: TimeAmount = .seconds(5)

    let options: BinaryOptions
    let connectionTimeout: TimeAmount
    let lanes: [Lane]
    package var outcomes = OutcomeLog()
    var delay: ErrorDelay
    /// `cacheLength` as it was adjusted.
    var cacheLength: Int
    var probePermission = ProbePermission(pause: Self.probePause)
    var stage = Stage.running
    /// Whether outcomes wait for their reader, so that nothing more may be written.
    package var isPaused = false
    /// Whether anyone wants `transmitted` events, which cost an allocation for each flush.
    package var reportsTransmitted = false
    var jitter: SplitMix64
    var dialLimiter = DialLimiter()
    /// Whether something was submitted since the last `completed` event.
    var isIncomplete = false
    private var steps: [ConnectionStep] = []
    private var events: [ProviderEvent] = []
    private var lastConnectionID: UInt64 = 0
    private var submissions: UInt64 = 0

    /// - Parameter seed: of the jitter between failed connections.
    package init(options: BinaryOptions, seed: UInt64 = .random(in: .min ... .max)) {
        self.options = options
        self.jitter = SplitMix64(seed: seed)
        self.connectionTimeout = TimeAmount(options.connectionTimeout)
        self.cacheLength = max(options.cacheLength, 1)
        self.delay = ErrorDelay(settleTime: options.settleTime)
        self.lanes = (0..<max(options.maxConnections, 1)).map { _ in Lane(backOff: BackOff(options.backOff)) }
    }

    // MARK: What there is

    package var queuedCount: Int { self.lanes.reduce(0) { $0 + $1.queue.count } }

    package var unsettledCount: Int { self.lanes.reduce(0) { $0 + $1.connection.cache.unsettledCount } }

    /// Whether everything has its outcome and nothing is being repaired.
    package var isSettled: Bool { self.queuedCount == 0 && self.unsettledCount == 0 }

    package var isShuttingDown: Bool { self.stage.proof != nil }

    /// Whether a shutdown is complete: everything settled and every connection gone.
    package var isFinished: Bool {
        self.isShuttingDown && self.isSettled && self.lanes.allSatisfy { $0.connection.id == nil }
    }

    /// How many notifications may be unsettled on a connection; nil when only the cache limits it.
    package func window(of id: ConnectionID) -> Int? { self.lane(of: id)?.window.size }

    func lane(of id: ConnectionID) -> Lane? { self.lanes.first { $0.connection.id == id } }

    var openCount: Int { self.lanes.reduce(0) { $0 + ($1.connection.establishedID == nil ? 0 : 1) } }

    // MARK: What to do

    // An empty array costs nothing, and one that was handed out is not emptied but replaced.
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

    mutating func report(_ event: ProviderEvent) { self.events.append(event) }

    mutating func makeConnectionID() -> ConnectionID {
        self.lastConnectionID += 1
        return ConnectionID(self.lastConnectionID)
    }

    // MARK: Notifications

    /// Takes notifications. The owner keeps to `queueLimit`.
    package mutating func submit(_ run: BatchRun, now: Moment) {
        guard run.count > 0 else { return }
        self.submissions += 1
        self.isIncomplete = true
        var run = run
        run.order = self.submissions
        self.distribute(run)
        self.connectIfNeeded(now: now)
    }

    /// Withdraws awaited notifications, by their tags, that were not written yet. O(queued).
    package mutating func withdraw(_ tags: Set<UInt64>, now: Moment) {
        for lane in self.lanes {
            let withdrawn = lane.takeQueued { entry in
                // A repair has its outcome, and its tag may be another's by now.
                entry.fields.isAwaited && !entry.marks.isTainted && !entry.marks.isSettled && tags.contains(entry.tag)
            }
            for run in withdrawn { self.outcomes.give(.undelivered(.cancelled), to: run) }
        }
        self.checkCompleted(now: now)
    }
}
