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
    /// How many notifications without bytes each connection remembers after they were settled.
    static let stubLimit = 262_144
    /// How many notifications without bytes may be unsettled under `.evict`.
    static let accountLimit = 8_388_608
    /// Connections in a row that the peer closes without a word and without progress, until the cause is isolated.
    static let wordlessLimit = 3
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
    var lanes: [Lane]
    package var outcomes = OutcomeLog()
    var delay: ErrorDelay
    /// `cacheLength` as it was adjusted.
    var cacheLength: Int
    /// When a probe may be written again; nil: now. A peer that left one unanswered is asked ever more rarely.
    var probesAgainAt: NIODeadline?
    var probeBackOff = BackOff(Self.probePause)
    package private(set) var isShuttingDown = false
    /// How a shutdown finds out what became of the last notifications.
    var proof = Proof.silence
    /// Whether outcomes wait for their reader, so that nothing more may be written.
    package var isPaused = false
    /// Whether anyone wants `transmitted` events, which cost an allocation for each flush.
    package var reportsTransmitted = false
    var jitter: SplitMix64
    private var steps: [ConnectionStep] = []
    private var events: [ProviderEvent] = []
    var dialLimiter = DialLimiter()
    private var lastConnectionID: UInt64 = 0
    private var submissions: UInt64 = 0
    /// Whether something was submitted since the last `completed` event.
    var isIncomplete = false

    /// - Parameter seed: of the jitter between failed connections.
    package init(options: BinaryOptions, seed: UInt64 = .random(in: .min ... .max)) {
        self.options = options
        self.jitter = SplitMix64(seed: seed)
        self.connectionTimeout = TimeAmount(options.connectionTimeout)
        self.cacheLength = max(options.cacheLength, 1)
        self.delay = ErrorDelay(settleTime: options.settleTime)
        self.lanes = Array(
            repeating: Lane(backOff: BackOff(options.backOff)),
            count: max(options.maxConnections, 1)
        )
    }

    // MARK: What there is

    // By index: a copy of a lane would count references.

    package var queuedCount: Int {
        var count = 0
        for index in self.lanes.indices { count += self.lanes[index].queue.count }
        return count
    }

    package var unsettledCount: Int {
        var count = 0
        for index in self.lanes.indices { count += self.lanes[index].connection?.cache.unsettledCount ?? 0 }
        return count
    }

    /// Whether everything has its outcome and nothing is being repaired.
    package var isSettled: Bool { self.queuedCount == 0 && self.unsettledCount == 0 }

    /// Whether a shutdown is complete: everything settled and every connection gone.
    package var isFinished: Bool {
        self.isShuttingDown && self.isSettled && self.lanes.allSatisfy { $0.connectionID == nil }
    }

    /// How many notifications may be unsettled on a connection; nil when only the cache limits it.
    package func window(of id: ConnectionID) -> Int? {
        self.lane(of: id).flatMap { self.lanes[$0].window.size }
    }

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

    // MARK: Notifications

    /// Takes notifications. The owner keeps to `queueLimit`.
    package mutating func submit(_ run: BatchRun, now: Moment) {
        guard run.count > 0 else { return }
        self.submissions += 1
        self.isIncomplete = true
        var run = run
        run.order = self.submissions
        if self.lanes.count == 1 {
            self.lanes[0].queue.append(run)
        } else {
            self.distribute(run)
        }
        self.connectIfNeeded(now: now)
    }

    /// Withdraws awaited notifications, by their tags, that were not written yet. O(queued).
    package mutating func withdraw(_ tags: Set<UInt64>, now: Moment) {
        for index in self.lanes.indices {
            let withdrawn = self.lanes[index].queue.remove { entry in
                // A repair has its outcome, and its tag may be another's by now.
                entry.fields.isAwaited && !entry.marks.isTainted && !entry.marks.isSettled && tags.contains(entry.tag)
            }
            for run in withdrawn {
                self.outcomes.give(.undelivered(.cancelled), to: run)
            }
        }
        self.checkCompleted(now: now)
    }

    /// Spreads a run over the lanes by device token, so that what goes to one device keeps its order.
    private mutating func distribute(_ run: BatchRun) {
        func lane(_ index: Int) -> Int { Int(run.entries[index].tokenHash) % self.lanes.count }
        guard run.count > 1 else { return self.lanes[lane(0)].queue.append(run) }
        var sizes = Array(repeating: (count: 0, bytes: 0), count: self.lanes.count)
        for index in 0..<run.count {
            sizes[lane(index)].count += 1
            sizes[lane(index)].bytes += run.storage.byteCount(at: run.start + index)
        }
        let parts = sizes.map { size in
            size.count == 0 ? nil : BatchStorage(capacity: size.count, arenaCapacity: size.bytes)
        }
        for index in 0..<run.count {
            parts[lane(index)]?.append(from: run.storage, at: run.start + index)
        }
        for (lane, part) in parts.enumerated() {
            guard let part else { continue }
            part.seal()
            self.lanes[lane].queue.append(BatchRun(storage: part, start: 0, count: part.count, order: run.order))
        }
    }

    // MARK: Connections

    func lane(of id: ConnectionID) -> Int? {
        self.lanes.firstIndex { $0.connectionID == id }
    }

    var openCount: Int { self.lanes.reduce(0) { $0 + ($1.connection == nil ? 0 : 1) } }

    package mutating func connected(_ id: ConnectionID, now: Moment) {
        guard let index = self.lane(of: id), case .dialing = self.lanes[index].dial else { return }
        self.lanes[index].dial = .idle
        self.lanes[index].connection = Connection(
            id: id,
            firstSequence: self.options.firstSequence,
            now: now.monotonic
        )
        self.report(.connected(id, open: self.openCount))
        self.advance(now: now)
    }

    /// Gives lanes with work a connection, as fast as dialling is allowed.
    mutating func connectIfNeeded(now: Moment) {
        for index in self.lanes.indices where self.lanes[index].connection?.isFinishing == true {
            // Half-closed for idleness, and there is work again.
            if !self.lanes[index].queue.isEmpty { self.hangUp(index, now: now) }
        }
        for index in self.lanes.indices where self.lanes[index].connection == nil {
            switch self.lanes[index].dial {
            case .dialing: continue
            case .waiting(let until) where until > now.monotonic: continue
            case .idle, .waiting: break
            }
            guard !self.lanes[index].queue.isEmpty else {
                self.lanes[index].dial = .idle
                continue
            }
            if let later = self.dialLimiter.take(now: now.monotonic) {
                self.lanes[index].dial = .waiting(until: later)
            } else {
                self.lastConnectionID += 1
                let id = ConnectionID(self.lastConnectionID)
                self.lanes[index].dial = .dialing(id, since: now.monotonic)
                self.act(.dial(id))
            }
        }
    }

    /// Notes that notifications of the lane were accepted, or rejected by name: the peer is well.
    mutating func progressed(_ index: Int, by count: Int, _ progress: Connection.Progress) {
        guard count > 0 else { return }
        self.lanes[index].connection?.progressed(progress)
        self.lanes[index].acceptedSinceError += count
        self.lanes[index].backOff.reset()
        self.lanes[index].wordlessCloses = 0
        self.lanes[index].violations = 0
    }

    // MARK: The end

    /// Sends what was taken and then finishes every connection: half-closed, until the peer has read everything.
    package mutating func shutDown(proof: Proof, now: Moment) {
        self.isShuttingDown = true
        self.proof = proof
        self.settleDown(now: now)
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
        for index in self.lanes.indices {
            self.presumeUnproved(index, .noAnswer, now: now)
            if let connection = self.lanes[index].connection {
                let unsettled = self.takeUnsettled(index, handed: handed(connection.id))
                for written in unsettled.mayHaveLeft {
                    self.outcomes.give(.uncertain(uncertain), to: written.run)
                }
                for written in unsettled.neverLeft {
                    self.outcomes.give(.undelivered(undelivered), tainted: .uncertain(uncertain), to: written.run)
                }
            }
            self.giveUpQueue(index, undelivered: undelivered, uncertain: uncertain)
            if let id = self.lanes[index].connectionID { self.act(.close(id)) }
            let wasOpen = self.lanes[index].connection?.id
            self.lanes[index].connection = nil
            self.lanes[index].dial = .idle
            if let wasOpen { self.report(.disconnected(wasOpen, open: self.openCount)) }
        }
        self.checkCompleted(now: now)
    }

    mutating func giveUpQueue(
        _ index: Int,
        undelivered: Outcome.UndeliveredCause,
        uncertain: Outcome.UncertainCause
    ) {
        for run in self.lanes[index].queue.removeAll() {
            self.outcomes.give(.undelivered(undelivered), tainted: .uncertain(uncertain), to: run)
        }
    }

    mutating func checkCompleted(now: Moment) {
        guard self.isSettled else { return }
        if self.isIncomplete {
            self.isIncomplete = false
            self.report(.completed)
        }
        if self.isShuttingDown { self.settleDown(now: now) }
    }

    /// During a shutdown: proves or finishes what is settled.
    mutating func settleDown(now: Moment) {
        for index in self.lanes.indices where self.lanes[index].queue.isEmpty {
            if case .dialing(let id, _) = self.lanes[index].dial {
                self.lanes[index].dial = .idle
                self.act(.close(id))
            }
            guard let connection = self.lanes[index].connection, !connection.isFinishing else { continue }
            guard connection.cache.unsettledCount == 0, connection.probe == nil else { continue }
            if !self.awaitsObjection(connection, now: now) { self.finish(index, now: now) }
        }
    }

    /// Half-closes the connection of a lane: the peer may still object to what it has.
    mutating func finish(_ index: Int, now: Moment) {
        guard let id = self.lanes[index].connection?.id else { return }
        self.leaveUnproved(index, self.lanes[index].connection?.probe == nil ? self.unasked : .noAnswer)
        self.lanes[index].connection?.finishingUntil = now.monotonic + max(Self.lingerLimit, self.delay.settleTime)
        self.act(.finish(id))
    }
}
