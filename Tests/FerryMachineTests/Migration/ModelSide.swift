import FerryCore
import FerryMachine
import NIOCore

/// One side of a migration: the smallest machine that can do everything that a protocol's machine does to a notification.
///
/// It writes the tag of a notification, 8 bytes, and reads answers of 9 bytes: the tag and a ``Verdict``.
struct ModelSide: ProviderMachine, ~Copyable {
    enum Verdict: UInt8, CaseIterable {
        case accepted, rejected
        /// The peer refuses the provider.
        case refused
        /// The peer did not take it, for the sake of another one. It is sent again.
        case discarded
    }

    private enum State {
        case idle
        case dialling(ConnectionID)
        case open(ConnectionID)
        case waiting(until: NIODeadline)
    }

    static func chunk(of id: ConnectionID) -> Int { 64 }

    var outcomes = OutcomeLog()
    var isPaused = false
    var reportsTransmitted = false
    /// The largest payload that it takes.
    let payloadLimit: Int
    /// Whether it sends again what may have arrived.
    let resends: Bool
    let window: Int
    let deadline: TimeAmount?
    private var state = State.idle
    private var queue = RunQueue()
    private var inFlight: [BatchRun] = []
    private var steps: [ConnectionStep] = []
    private var events: [ProviderEvent] = []
    private var lastID: UInt64 = 0
    private var failures = 0
    private var isShuttingDown = false

    init(payloadLimit: Int, resends: Bool, window: Int, deadline: TimeAmount?) {
        self.payloadLimit = payloadLimit
        self.resends = resends
        self.window = window
        self.deadline = deadline
    }

    // MARK: Queries

    var queuedCount: Int { self.queue.count }
    var unsettledCount: Int { self.inFlight.count }
    var isSettled: Bool { self.queue.isEmpty && self.inFlight.isEmpty }

    var isFinished: Bool {
        switch self.state {
        case .idle, .waiting: self.isShuttingDown && self.isSettled
        case .dialling, .open: false
        }
    }

    var hasUsableConnection: Bool { if case .open = self.state { true } else { false } }

    var nextDeadline: NIODeadline? {
        guard let first = self.queue.first else { return nil }
        let late = self.deadline.map { first.submitted + $0 }
        guard case .waiting(let until) = self.state else { return late }
        return min(late ?? until, until)
    }

    func takes(_ run: BatchRun, at index: Int) -> Bool { Int(run.entries[index].payloadLength) <= self.payloadLimit }

    func refusal(of run: BatchRun, at index: Int) -> Rejection? {
        self.takes(run, at: index) ? nil : Rejection(reason: .payloadTooLarge, origin: .ferry)
    }

    func takesAll(_ run: BatchRun) -> Bool { (0..<run.count).allSatisfy { self.takes(run, at: $0) } }

    func visitUnsettled(inFlight isInFlight: Bool, _ visit: (BatchEntry) -> Void) {
        for run in self.inFlight { visit(run.entries[0]) }
        if !isInFlight { self.queue.forEach { $0.forEachUnsettled(visit) } }
    }

    // MARK: Out

    mutating func takeSteps() -> [ConnectionStep] {
        defer { self.steps = [] }
        return self.steps
    }

    mutating func takeEvents() -> [ProviderEvent] {
        defer { self.events = [] }
        return self.events
    }

    mutating func write(_ id: ConnectionID, into buffer: inout ByteBuffer, atMost limit: Int, now: Moment) -> Bool {
        guard case .open(id) = self.state, !self.isPaused else { return false }
        let start = buffer.writerIndex
        while buffer.writerIndex - start < limit, self.inFlight.count < self.window,
            let run = self.queue.popFirst(atMost: 1)
        {
            guard self.takes(run, at: 0) else {
                self.outcomes.give(.rejected(Rejection(reason: .payloadTooLarge, origin: .ferry)), to: run)
                continue
            }
            buffer.writeInteger(run.entries[0].tag, endianness: .little)
            if run.isCopy { self.outcomes.wrote(copies: 1) }
            self.inFlight.append(run)
        }
        self.goOn()
        return buffer.writerIndex > start
    }

    // MARK: In

    mutating func submit(_ run: BatchRun, now: Moment) {
        self.queue.insert(run)
        self.goOn()
    }

    mutating func recall(tainted: Bool, where isMeant: (BatchEntry) -> Bool, now: Moment) -> [BatchRun] {
        defer { self.goOn() }
        return self.queue.remove { (tainted || !$0.marks.isTainted) && isMeant($0) }
    }

    mutating func withdraw(_ tags: Set<UInt64>, now: Moment) {
        let withdrawn = self.queue.remove { $0.fields.isAwaited && !$0.marks.isTainted && tags.contains($0.tag) }
        for run in withdrawn { self.outcomes.give(.undelivered(.cancelled), to: run) }
        self.goOn()
    }

    mutating func tick(now: Moment) {
        if let deadline {
            while let first = self.queue.first, first.submitted + deadline <= now.monotonic,
                let run = self.queue.popFirst(atMost: first.count)
            {
                self.outcomes.give(
                    .undelivered(.noConnection),
                    tainted: .uncertain(.notRepeated),
                    to: run,
                    isFinal: true
                )
            }
        }
        if case .waiting(let until) = self.state, until <= now.monotonic { self.state = .idle }
        self.goOn()
    }

    mutating func connected(_ id: ConnectionID, now: Moment) {
        guard case .dialling(id) = self.state else { return }
        self.state = .open(id)
        self.events.append(.connected(id, open: 1))
        self.goOn()
    }

    mutating func received(_ id: ConnectionID, _ bytes: ByteBuffer, handed: UInt64, now: Moment) {
        guard case .open(id) = self.state else { return }
        var bytes = bytes
        while let tag: UInt64 = bytes.readInteger(endianness: .little), let code: UInt8 = bytes.readInteger(),
            let verdict = Verdict(rawValue: code),
            let index = self.inFlight.firstIndex(where: { $0.entries[0].tag == tag })
        {
            self.failures = 0
            self.judge(self.inFlight.remove(at: index), verdict)
        }
        self.goOn()
    }

    private mutating func judge(_ run: BatchRun, _ verdict: Verdict) {
        switch verdict {
        case .accepted: self.outcomes.give(.accepted(.confirmed), to: run)
        case .rejected:
            self.outcomes.give(.rejected(Rejection(reason: .badDeviceToken, origin: .apns, status: 400)), to: run)
        case .refused where run.entries[0].marks.isTainted: self.outcomes.give(.uncertain(.notRepeated), to: run)
        case .refused:
            self.outcomes.give(.rejected(Rejection(reason: .invalidProviderToken, origin: .apns, status: 403)), to: run)
        case .discarded: self.again([run])
        }
    }

    private mutating func again(_ runs: [BatchRun]) {
        self.outcomes.hasRequeued = true
        for var run in runs {
            run.isCopy = true
            self.queue.insert(run)
        }
        if !runs.isEmpty { self.events.append(.resent(count: runs.count, afterOutcome: false)) }
    }

    mutating func flushed(_ id: ConnectionID, at offset: UInt64, now: Moment) {}

    mutating func ended(_ id: ConnectionID, _ end: ConnectionEnd, handed: UInt64, now: Moment) {
        switch self.state {
        case .dialling(id): break
        case .open(id):
            self.events.append(.disconnected(id, open: 0))
            self.loseInFlight(.positionUnknown)
        default: return
        }
        self.state = .waiting(until: now.monotonic + .milliseconds(100))
        if let error = end.error { self.outcomes.failed(error) }
        self.failures += 1
        if case .credentialsRejected(let error) = end { self.giveUp(error, .credentials) }
        if self.failures >= 20 {
            self.failures = 0
            self.giveUp(ProviderError(.connectionRetryLimit, "Twenty connections failed."), .noConnection)
        }
        self.goOn()
    }

    private mutating func loseInFlight(_ cause: Outcome.UncertainCause) {
        let unknown = self.inFlight
        self.inFlight = []
        guard self.resends, !self.isShuttingDown || cause == .positionUnknown else {
            for run in unknown { self.outcomes.give(.uncertain(cause), to: run) }
            return
        }
        for run in unknown { run.taint() }
        self.again(unknown)
    }

    private mutating func giveUp(_ error: ProviderError, _ cause: Outcome.UndeliveredCause) {
        self.events.append(.error(error))
        for run in self.queue.removeAll() {
            self.outcomes.give(.undelivered(cause), tainted: .uncertain(.notRepeated), to: run)
        }
    }

    private mutating func goOn() {
        if case .idle = self.state, !self.queue.isEmpty {
            self.lastID += 1
            self.state = .dialling(ConnectionID(self.lastID))
            self.steps.append(.dial(ConnectionID(self.lastID)))
        }
        guard self.isShuttingDown, self.isSettled else { return }
        self.close()
    }

    private mutating func close() {
        switch self.state {
        case .dialling(let id): self.steps.append(.close(id))
        case .open(let id):
            self.steps.append(.close(id))
            self.events.append(.disconnected(id, open: 0))
        case .idle, .waiting: break
        }
        self.state = .idle
    }

    mutating func shutDown(proof: Proof, now: Moment) {
        self.isShuttingDown = true
        self.goOn()
    }

    mutating func abandon(
        undelivered: Outcome.UndeliveredCause,
        uncertain: Outcome.UncertainCause,
        handed: (ConnectionID) -> UInt64,
        now: Moment
    ) {
        self.isShuttingDown = true
        for run in self.inFlight { self.outcomes.give(.uncertain(uncertain), to: run) }
        self.inFlight = []
        for run in self.queue.removeAll() {
            self.outcomes.give(.undelivered(undelivered), tainted: .uncertain(uncertain), to: run)
        }
        self.close()
    }
}
