package import FerryCore
package import NIOCore

/// A provider over two protocols, without I/O. The client is a machine itself. It gives each notification to one of
/// two other machines, its sides.
///
/// ```
///               the rule's side, the other one if that is down or cannot take it
///   submit ────────────────────────────────────────────────▶ binary or http2 ──▶ outcome
///      │                                                        ▲        │
///      │ its group moves                                        │        │ recalled for a move, or
///      └────────────────────────▶ front ────────────────────────┘        │ given back: not delivered
///                                   ▲    nothing of its group is         │
///                                   │    unsettled on either side        │
///                                   └────────────────────────────────────┘
/// ```
///
/// While a group of devices moves to the other side, its notifications wait in the ``MigrationFront``. A notification
/// is in the front or on exactly one side, and gets its outcome there. Front and sides keep the caller's tag with
/// each notification, so this type needs no table of notifications.
///
/// `Docs/begin/migration.md` describes the behaviour.
package struct MigratingClient<
    Binary: ProviderMachine & ~Copyable,
    HTTP2: ProviderMachine & ~Copyable
>: ProviderMachine, ~Copyable {
    /// A move that lasts longer than this time is reported.
    static var noticeAfter: TimeAmount { .seconds(5) }

    /// The stage of the client's life.
    ///
    /// ```
    ///             shutDown                    abandon
    ///   running ───────────▶ shuttingDown ───────────────▶ abandoned
    ///      └─────────────────────────────────────────────────▲
    /// ```
    enum Stage {
        case running
        /// The owner submits nothing more. `told` has the sides whose `shutDown(proof:now:)` was called.
        case shuttingDown(Proof, told: Set<ProviderSide>)
        case abandoned
    }

    let options: MigrationOptions
    let deadline: TimeAmount?
    var binary: Binary
    var http2: HTTP2
    package var outcomes = OutcomeLog()
    package internal(set) var router: MigrationRouter
    var front = MigrationFront()
    /// The health of each side; nil without a fallback.
    var health = BothSides<SideHealth?>(nil)
    /// The number of notifications that each side's peer accepted, or rejected for a fault of the notification.
    var answered = BothSides(0)
    /// The last error of each side; nil after the side's peer accepted or rejected a notification.
    var trouble = BothSides<ProviderError?>(nil)
    /// The number of open connections of each side.
    var open = BothSides(0)
    /// The number of notifications that went over from each side since the last ``MigrationEvent/wentOver`` event of
    /// the side.
    var goneOver = BothSides(0)
    package var report: MigrationReport
    var stage = Stage.running
    /// Whether a group moves, so that ``MigrationEvent/moved`` must still be reported.
    package internal(set) var isMoving = false
    /// The time at which the present move counts as slow and is reported; nil after the report, and while nothing
    /// moves.
    var noticeAt: NIODeadline?
    /// Whether something was submitted, or sent again after its outcome, since the last `completed` event.
    var isIncomplete = false
    private var order = SubmissionOrder()
    var events: [SidedEvent] = []
    /// Memory for the chosen destinations of a run. The memory is kept, so that the next run needs no allocation.
    var destinations: [MigrationFront.Destination] = []

    /// - Parameters:
    ///   - binary: the machine of the binary protocol. Its deadline must be that of `options`.
    ///   - http2: the machine of HTTP/2. Its deadline must be that of `options`, too.
    package init(_ options: MigrationOptions, binary: consuming Binary, http2: consuming HTTP2) {
        self.options = options
        self.deadline = options.deadline.map { max(TimeAmount($0), .nanoseconds(1)) }
        self.binary = binary
        self.http2 = http2
        self.router = MigrationRouter(options.rule)
        self.report = MigrationReport(share: options.rule.share)
        if let fallback = options.fallback { self.health = BothSides(SideHealth(fallback)) }
        self.binary.outcomes.givesBack = options.fallback != nil
        self.http2.outcomes.givesBack = options.fallback != nil
        self.binary.outcomes.countCauses()
        self.http2.outcomes.countCauses()
        self.binary.outcomes.times = DeliveryTimes()
        self.http2.outcomes.times = DeliveryTimes()
    }

    // MARK: Connections

    // The owner knows connections of the binary protocol by odd numbers, and those of HTTP/2 by even numbers. So no
    // table has to map the owner's numbers to the numbers of a side.

    /// Returns the side of a connection.
    package static func side(of id: ConnectionID) -> ProviderSide { id.rawValue.isMultiple(of: 2) ? .http2 : .binary }

    /// Returns the number by which the owner knows a side's connection.
    static func outer(_ id: ConnectionID, of side: ProviderSide) -> ConnectionID {
        ConnectionID(side == .http2 ? id.rawValue * 2 : id.rawValue * 2 - 1)
    }

    /// Returns the number by which the side knows its connection.
    static func inner(_ id: ConnectionID) -> ConnectionID { ConnectionID((id.rawValue + 1) / 2) }

    package static func chunk(of id: ConnectionID) -> Int {
        switch self.side(of: id) {
        case .binary: Binary.chunk(of: self.inner(id))
        case .http2: HTTP2.chunk(of: self.inner(id))
        }
    }

    // MARK: Queries

    package var isPaused: Bool = false {
        didSet {
            self.binary.isPaused = self.isPaused
            self.http2.isPaused = self.isPaused
        }
    }

    package var reportsTransmitted: Bool = false {
        didSet {
            self.binary.reportsTransmitted = self.reportsTransmitted
            self.http2.reportsTransmitted = self.reportsTransmitted
        }
    }

    package var queuedCount: Int { self.front.count + self.binary.queuedCount + self.http2.queuedCount }

    package var delayedCount: Int { self.front.count + self.binary.delayedCount + self.http2.delayedCount }

    package var unsettledCount: Int { self.binary.unsettledCount + self.http2.unsettledCount }

    package var isSettled: Bool { self.front.isEmpty && self.binary.isSettled && self.http2.isSettled }

    package var isFinished: Bool {
        if case .running = self.stage { return false }
        return self.isSettled && self.binary.isFinished && self.http2.isFinished
    }

    package var hasUsableConnection: Bool { self.binary.hasUsableConnection || self.http2.hasUsableConnection }

    package var needsAuthorization: Bool { self.binary.needsAuthorization || self.http2.needsAuthorization }

    package func judged(at now: NIODeadline) -> [ConnectionID] {
        self.binary.judged(at: now).map { Self.outer($0, of: .binary) }
            + self.http2.judged(at: now).map { Self.outer($0, of: .http2) }
    }

    package var bottleneck: ConnectionID? {
        // All queued notifications wait for one answer over HTTP/2 only if the client has no other work.
        guard self.binary.isSettled, self.front.isEmpty else { return nil }
        return self.http2.bottleneck.map { Self.outer($0, of: .http2) }
    }

    package func takes(_ run: BatchRun, at index: Int) -> Bool {
        self.binary.takes(run, at: index) || self.http2.takes(run, at: index)
    }

    package func refusal(of run: BatchRun, at index: Int) -> Rejection? {
        guard self.binary.refusal(of: run, at: index) != nil else { return nil }
        return self.http2.refusal(of: run, at: index)
    }

    package func takesAll(_ run: BatchRun) -> Bool { (0..<run.count).allSatisfy { self.takes(run, at: $0) } }

    package func visitUnsettled(inFlight isInFlight: Bool, _ visit: (BatchEntry) -> Void) {
        self.binary.visitUnsettled(inFlight: isInFlight, visit)
        self.http2.visitUnsettled(inFlight: isInFlight, visit)
        if !isInFlight { self.front.forEach { $0.forEachUnsettled(visit) } }
    }

    // MARK: Out

    package mutating func takeSteps() -> [ConnectionStep] {
        let binary = self.binary.takeSteps()
        let http2 = self.http2.takeSteps()
        if binary.isEmpty, http2.isEmpty { return [] }
        return binary.map { $0.renumbered { Self.outer($0, of: .binary) } }
            + http2.map { $0.renumbered { Self.outer($0, of: .http2) } }
    }

    package mutating func takeEvents() -> [ProviderEvent] { self.takeSidedEvents().map(\.event) }

    package mutating func takeSidedEvents() -> [SidedEvent] {
        defer { if !self.events.isEmpty { self.events = [] } }
        return self.events
    }

    package mutating func countPings() { self.http2.countPings() }

    package mutating func takePings() -> ProviderActivity.Pings { self.http2.takePings() }

    package mutating func measureTimes() {
        self.binary.measureTimes()
        self.http2.measureTimes()
    }

    package mutating func takeTimes(until now: NIODeadline) -> ProviderActivity.Times {
        var times = self.binary.takeTimes(until: now)
        times.add(self.http2.takeTimes(until: now))
        return times
    }

    package mutating func write(
        _ id: ConnectionID,
        into buffer: inout ByteBuffer,
        atMost limit: Int,
        now: Moment
    ) -> Bool {
        let inner = Self.inner(id)
        self.setTime(now)
        let hasWritten =
            switch Self.side(of: id) {
            case .binary: self.binary.write(inner, into: &buffer, atMost: limit, now: now)
            case .http2: self.http2.write(inner, into: &buffer, atMost: limit, now: now)
            }
        self.goOn(now: now)
        return hasWritten
    }

    /// Tells both sides the time, so that they can measure how long notifications take.
    mutating func setTime(_ now: Moment) {
        self.binary.outcomes.times?.now = now.monotonic
        self.http2.outcomes.times?.now = now.monotonic
    }

    // MARK: In

    package mutating func submit(_ run: BatchRun, now: Moment) {
        self.setTime(now)
        guard run.count > 0 else { return }
        self.isIncomplete = true
        self.setExpiration(of: run, now: now)
        self.beginTrials(run, now: now)
        var run = run
        while let part = self.order.placeFirst(of: &run, now: now) { self.route(part, now: now) }
        self.goOn(now: now)
    }

    /// Gives each notification without an expiration the default one, so that both sides send the same expiration.
    private func setExpiration(of run: BatchRun, now: Moment) {
        let seconds = UInt32(clamping: self.options.defaultExpiration.components.seconds)
        let (sum, isTooLate) = now.epochSeconds.addingReportingOverflow(seconds)
        let expiration = seconds == 0 ? 0 : isTooLate ? .max : sum
        let entries = run.entries
        for index in 0..<run.count where !entries[index].fields.hasExpiration {
            entries[index].fields.hasExpiration = true
            entries[index].expiration = expiration
        }
    }

    package mutating func recall(tainted: Bool, where isMeant: (BatchEntry) -> Bool, now: Moment) -> [BatchRun] {
        var recalled = self.front.remove(where: isMeant)
        recalled += self.binary.recall(tainted: tainted, where: isMeant, now: now)
        recalled += self.http2.recall(tainted: tainted, where: isMeant, now: now)
        recalled.sort { $0.precedes($1) }
        self.goOn(now: now)
        return recalled
    }

    package mutating func withdraw(_ tags: Set<UInt64>, now: Moment) {
        self.setTime(now)
        let waiting = self.front.remove { $0.fields.isAwaited && !$0.marks.isTainted && tags.contains($0.tag) }
        for run in waiting { self.settle(run, as: .undelivered(.cancelled), tainted: .uncertain(.notRepeated)) }
        self.binary.withdraw(tags, now: now)
        self.http2.withdraw(tags, now: now)
        self.goOn(now: now)
    }

    package mutating func tick(now: Moment) {
        self.setTime(now)
        self.binary.tick(now: now)
        self.http2.tick(now: now)
        self.giveUpLate(now: now)
        self.goOn(now: now)
    }

    package mutating func authorized(_ authorization: Authorization) {
        self.binary.authorized(authorization)
        self.http2.authorized(authorization)
    }

    package mutating func failed(_ error: ProviderError, now: Moment) {
        // Only HTTP/2 has provider tokens, so the missing token stops the HTTP/2 side alone.
        self.http2.failed(error, now: now)
        self.sideFailed(.http2, now: now)
        self.goOn(now: now)
    }

    package mutating func connected(_ id: ConnectionID, now: Moment) {
        self.setTime(now)
        switch Self.side(of: id) {
        case .binary: self.binary.connected(Self.inner(id), now: now)
        case .http2: self.http2.connected(Self.inner(id), now: now)
        }
        self.goOn(now: now)
    }

    package mutating func received(_ id: ConnectionID, _ bytes: ByteBuffer, handed: UInt64, now: Moment) {
        self.setTime(now)
        switch Self.side(of: id) {
        case .binary: self.binary.received(Self.inner(id), bytes, handed: handed, now: now)
        case .http2: self.http2.received(Self.inner(id), bytes, handed: handed, now: now)
        }
        self.goOn(now: now)
    }

    package mutating func flushed(_ id: ConnectionID, at offset: UInt64, now: Moment) {
        switch Self.side(of: id) {
        case .binary: self.binary.flushed(Self.inner(id), at: offset, now: now)
        case .http2: self.http2.flushed(Self.inner(id), at: offset, now: now)
        }
    }

    package mutating func writability(_ id: ConnectionID, isWritable: Bool) {
        switch Self.side(of: id) {
        case .binary: self.binary.writability(Self.inner(id), isWritable: isWritable)
        case .http2: self.http2.writability(Self.inner(id), isWritable: isWritable)
        }
    }

    package mutating func sampled(_ id: ConnectionID, _ sample: TransportSample, now: Moment) {
        self.setTime(now)
        switch Self.side(of: id) {
        case .binary: self.binary.sampled(Self.inner(id), sample, now: now)
        case .http2: self.http2.sampled(Self.inner(id), sample, now: now)
        }
        self.goOn(now: now)
    }

    package mutating func ended(_ id: ConnectionID, _ end: ConnectionEnd, handed: UInt64, now: Moment) {
        self.setTime(now)
        switch Self.side(of: id) {
        case .binary: self.binary.ended(Self.inner(id), end, handed: handed, now: now)
        case .http2: self.http2.ended(Self.inner(id), end, handed: handed, now: now)
        }
        self.goOn(now: now)
    }
}

extension ConnectionStep {
    /// Returns the step with the number by which the owner knows its connection.
    fileprivate func renumbered(_ outer: (ConnectionID) -> ConnectionID) -> ConnectionStep {
        switch self {
        case .dial(let id): .dial(outer(id))
        case .close(let id): .close(outer(id))
        case .finish(let id): .finish(outer(id))
        case .sample(let id): .sample(outer(id))
        case .refused: self
        }
    }
}
