internal import FerryCore
internal import FerryMachine
internal import NIOCore

/// One connection of an ``HTTP2Client``, without I/O: requests, bytes and time in; bytes and actions out.
///
/// Its ``State`` says how far it is on its way to its end, its ``StreamWindow`` how many requests it takes: at first one.
struct HTTP2Connection: ~Copyable {
    let id: ConnectionID
    /// When it was made.
    let since: NIODeadline
    let limits: ConnectionLimits
    private(set) var state = State.open
    private var ping: PingMachine
    // Changed here and in HTTP2Connection+Requests.swift only. They lie beside the state, because a transition moves it.
    var streams: RequestStreams
    var window: StreamWindow
    var record = AnswerRecord()
    var refusals = RefusalCount()
    var goAways = GoAwayState()
    var lastWord = LastWord.nothing
    var standing = Standing.untried

    init(id: ConnectionID, limits: ConnectionLimits, earned: EarnedWindow, now: NIODeadline) throws(HTTP2Error) {
        self.id = id
        self.since = now
        self.limits = limits
        self.streams = try RequestStreams(now: now)
        self.window = StreamWindow(
            limit: limits.maxStreams,
            earned: earned.size(answered: 0),
            startsWithOne: limits.startsWithOne,
            settings: PeerSettings(awaitedUntil: now + limits.connectTimeout)
        )
        self.ping = PingMachine(interval: limits.pingInterval, now: now)
    }

    // MARK: What there is

    /// Whether it takes no new requests.
    var isLeaving: Bool { self.state.isLeaving }

    /// Whether its end was asked for.
    var isFinished: Bool { self.state.isFinished }

    /// Whether the session is over because the peer broke the protocol.
    var isViolated: Bool { self.streams.session.isViolated }

    /// How many requests are under way.
    var underWay: Int { self.streams.count }

    /// Whether a request was written.
    var isUsed: Bool { self.streams.isUsed }

    /// How many more requests may be under way.
    var room: Int { self.isLeaving ? 0 : max(self.window.size - self.streams.count, 0) }

    /// Whether more connections would help: this one is full, and not because APNs allows one stream only.
    var isSaturated: Bool { self.standing == .proven && self.window.size > 1 && self.room == 0 }

    /// Whether new requests may be written now.
    func mayWrite(now: NIODeadline) -> Bool { self.room > 0 && self.refusals.mayWrite(now: now) }

    /// Whether SETTINGS have allowed no stream for as long as an answer may take.
    func isClosed(now: NIODeadline) -> Bool {
        guard !self.isLeaving, let since = self.window.settings.closedSince else { return false }
        return since + self.limits.attemptTimeout <= now
    }

    /// Why it ends, as far as the peer said so; nil when it said nothing.
    func farewell(authority: String) -> ProviderError? { self.lastWord.error(authority: authority) }

    // MARK: Leaving

    /// The peer takes no new requests.
    mutating func takeNoMore() { self.state.leave(owesGoAway: false) }

    /// All that came was read: notes whether the session still takes requests.
    ///
    /// If it does not, and the peer said nothing of that, the peer broke the protocol: only the own GOAWAY is still to be
    /// written.
    mutating func endReading() {
        guard !self.streams.session.takesRequests else { return }
        self.takeNoMore()
        if case .nothing = self.lastWord { self.lastWord = .violation }
    }

    /// The connection ended or is left; true when it is to be counted as failed now.
    mutating func countsAsFailure() -> Bool { self.standing.countsAsFailure() }

    /// Makes no more requests on it; ends it when the last was answered.
    mutating func leave(now: NIODeadline) -> State.FinishAction {
        self.state.leave(owesGoAway: true)
        return self.finishIfDone(now: now)
    }

    /// Ends it if it is to be left, nothing is under way, and all is written.
    mutating func finishIfDone(now: NIODeadline) -> State.FinishAction {
        guard self.streams.count == 0 else { return .nothing }
        if self.state.drained(now: now) == .sayGoAway { self.streams.goAway() }
        return self.streams.session.wantsToWrite ? .nothing : self.state.written(now: now)
    }

    /// Ends it if the session neither reads nor writes any more.
    mutating func finishIfOver(now: NIODeadline) -> State.FinishAction {
        self.streams.session.isOver ? self.state.sessionIsOver(now: now) : .nothing
    }

    /// It is gone.
    mutating func end() { self.state.end() }

    // MARK: Time

    /// Bytes came or were written.
    mutating func used(now: NIODeadline) { self.ping.used(now: now) }

    /// The answer to a PING came.
    mutating func pingAnswered(now: NIODeadline) { self.ping.answered(now: now) }

    /// When ``tick(now:)`` or ``nextLate(now:)`` is due, or new requests may be written.
    ///
    /// - Parameter hasWork: whether requests wait.
    func deadline(hasWork: Bool) -> NIODeadline {
        let timeout = self.limits.attemptTimeout
        var next = self.streams.firstWritten.map { $0 + timeout } ?? .distantFuture
        func consider(_ deadline: NIODeadline?) {
            if let deadline, deadline < next { next = deadline }
        }
        if hasWork {
            consider(self.refusals.deadline)
            if !self.isLeaving { consider(self.window.settings.closedSince.map { $0 + timeout }) }
        }
        consider(self.state.closesAt)
        if !self.isFinished { consider(self.window.settings.dueAt ?? self.ping.deadline) }
        return next
    }

    enum TickAction {
        case nothing
        /// Close it: it did not end in time.
        case close
        /// Drop it: SETTINGS did not come in time.
        case dropForSettings
        /// Drop it: a PING was not answered in time.
        case dropForPing
    }

    /// Time has passed.
    mutating func tick(now: NIODeadline) -> TickAction {
        self.refusals.tick(now: now)
        if let until = self.state.closesAt, until <= now { return .close }
        guard !self.isFinished else { return .nothing }
        if let due = self.window.settings.dueAt, due <= now { return .dropForSettings }
        switch self.ping.tick(now: now) {
        case .nothing: return .nothing
        case .drop: return .dropForPing
        case .ping:
            self.streams.ping()
            return .nothing
        }
    }
}
