internal import FerryCore
internal import FerryMachine
internal import NIOCore

/// One connection of an ``HTTP2Client`` or a ``ChannelClient``, without I/O. Input: requests, bytes and time; output:
/// bytes and actions.
///
/// The owner keeps what a request is about, and names each request by a number of its own.
///
/// Its ``State`` shows how near its end is. Its ``StreamWindow`` shows how many requests it takes, which is one at
/// first.
struct HTTP2Connection: ~Copyable {
    let id: ConnectionID
    /// When the connection was made.
    let since: NIODeadline
    let limits: ConnectionLimits
    private(set) var state = State.open
    private var ping: PingMachine
    // Only this file and HTTP2Connection+Requests.swift change these. They are not in the state, which transitions
    // move.
    var streams: RequestStreams
    var window: StreamWindow
    var record = AnswerRecord()
    var refusals = RefusalCount()
    var goAways = GoAwayState()
    var closeReason = CloseReason.nothing
    var standing = Standing.untried
    var conduct = Conduct()
    /// Whether the connection is left because its peer answered nothing in time.
    var isLate = false

    init(id: ConnectionID, limits: ConnectionLimits, earned: EarnedWindow, now: Moment) throws(HTTP2Error) {
        self.id = id
        self.since = now.monotonic
        self.limits = limits
        self.streams = try RequestStreams(limits.session, now: now.monotonic)
        self.window = StreamWindow(
            limit: limits.maxStreams,
            earned: earned.size(answered: 0),
            startsWithOne: limits.startsWithOne,
            settings: PeerSettings(awaitedUntil: now.monotonic + limits.connectTimeout)
        )
        self.ping = PingMachine(limits.ping, now: now)
    }

    // MARK: Queries

    /// Whether the connection takes no new requests.
    var isLeaving: Bool { self.state.isLeaving }

    /// Whether the connection takes requests, now or after answers.
    var takesRequests: Bool { !self.isLeaving && !self.isDoubtful }

    /// Whether the owner was asked to end the connection.
    var isFinished: Bool { self.state.isFinished }

    /// Whether the peer has closed the connection, and answers nothing more.
    var isOverByPeer: Bool { self.state.isClosedByPeer && self.streams.count == 0 }

    /// Whether the session is over because the peer broke the protocol.
    var isViolated: Bool { self.streams.session.isViolated }

    /// The number of requests under way.
    var underWay: Int { self.streams.count }

    /// Whether a request was written.
    var isUsed: Bool { self.streams.isUsed }

    /// The number of further requests that may be under way.
    var room: Int { self.isLeaving ? 0 : max(self.window.size - self.streams.count, 0) }

    /// Whether more connections would help. They would if this one is full, unless APNs allows only one stream.
    var isSaturated: Bool {
        self.standing == .proven && self.window.size > 1 && (self.room == 0 || self.streams.session.hasCutBody)
    }

    /// Whether new requests may be written now.
    func mayWrite(now: NIODeadline) -> Bool {
        self.room > 0 && self.conduct.mayWrite && self.refusals.mayWrite(now: now)
    }

    /// Whether SETTINGS have allowed no stream for longer than an answer may take.
    func isClosed(now: NIODeadline) -> Bool {
        guard !self.isLeaving, let since = self.window.settings.closedSince else { return false }
        return since + self.limits.attemptTimeout <= now
    }

    /// Returns the reason that the peer gave for the end of the connection; nil if it gave none.
    func farewell(peer: String) -> ProviderError? { self.closeReason.error(peer: peer) }

    // MARK: Leaving

    /// Notes that the peer takes no new requests.
    mutating func takeNoMore() { self.state.leave(owesGoAway: false) }

    /// Notes whether the session still takes requests, after all events were read.
    ///
    /// If it takes none and the peer gave no reason, the peer broke the protocol. Then only our own GOAWAY is still to
    /// be written.
    mutating func endReading() {
        guard !self.streams.session.takesRequests else { return }
        self.takeNoMore()
        if case .nothing = self.closeReason { self.closeReason = .violation }
    }

    /// Notes that the connection ended or is left. Returns true if it must be counted as failed now.
    mutating func countsAsFailure() -> Bool { self.standing.countsAsFailure() }

    /// Notes that the end of the connection is not a failure of connecting.
    mutating func excuse() { self.standing.excuse() }

    /// Stops new requests, and ends the connection when the last was answered.
    mutating func leave(now: NIODeadline) -> State.FinishAction {
        self.state.leave(owesGoAway: true)
        return self.finishIfDone(now: now)
    }

    /// Ends the connection if it is to be left, nothing is under way, and all is written.
    mutating func finishIfDone(now: NIODeadline) -> State.FinishAction {
        guard self.streams.count == 0 else { return .nothing }
        if self.state.drained(now: now) == .sayGoAway { self.streams.goAway() }
        return self.streams.session.wantsToWrite ? .nothing : self.state.written(now: now)
    }

    /// Ends the connection if the session neither reads nor writes any more.
    mutating func finishIfOver(now: NIODeadline) -> State.FinishAction {
        self.streams.session.isOver ? self.state.sessionIsOver(now: now) : .nothing
    }

    /// Notes that the connection is gone.
    mutating func end() { self.state.end() }

    // MARK: Time

    /// Notes that bytes arrived.
    mutating func heard(now: Moment) { self.ping.heard(now: now) }

    /// Notes that the answer to a request took that long.
    mutating func answerTook(_ time: TimeAmount) { self.ping.answerTook(time) }

    /// Notes the answer to a PING.
    mutating func pingAnswered(now: Moment) { self.ping.answered(now: now) }

    /// Notes that the connection is left because a PING waits for its answer for too long.
    mutating func giveUpPing() { self.ping.giveUp() }

    /// Returns the counts of PINGs since the last call.
    mutating func takePings() -> ProviderActivity.Pings { self.ping.takePings() }

    /// Whether a PING waits for its answer for so long that new requests must go to another connection.
    var isDoubtful: Bool { self.ping.isDoubtful }

    /// Returns whether a request may be written on the path. If the connection was idle, sends a PING, and no request
    /// before its answer.
    mutating func mayUsePath(now: Moment) -> Bool {
        switch self.ping.request(now: now) {
        case .write: return true
        case .wait: return false
        case .ping:
            self.streams.ping()
            return false
        }
    }

    /// Whether ``tick(now:)`` or ``nextLate(now:)`` would take the silence of the peer for a fault.
    func judgesSilence(at now: NIODeadline) -> Bool {
        func isDue(_ deadline: NIODeadline?) -> Bool { deadline.map { $0 <= now } ?? false }
        if isDue(self.streams.firstWritten.map { $0 + self.limits.answerLimit }) { return true }
        if self.limits.waitsForLateAnswers, isDue(self.lateAt(hasWork: true)) { return true }
        return !self.isFinished && isDue(self.window.settings.dueAt ?? self.ping.judgement)
    }

    /// Returns when ``tick(now:)`` or ``nextLate(now:)`` is due, or new requests may be written.
    ///
    /// - Parameter hasWork: whether requests wait.
    func deadline(hasWork: Bool) -> NIODeadline {
        let timeout = self.limits.attemptTimeout
        var next = self.streams.firstWritten.map { $0 + self.limits.answerLimit } ?? .distantFuture
        func consider(_ deadline: NIODeadline?) {
            if let deadline, deadline < next { next = deadline }
        }
        if hasWork {
            consider(self.refusals.deadline)
            if !self.isLeaving { consider(self.window.settings.closedSince.map { $0 + timeout }) }
        }
        if self.limits.waitsForLateAnswers { consider(self.lateAt(hasWork: hasWork)) }
        consider(self.state.closesAt)
        consider(self.conduct.deadline)
        if !self.isFinished {
            consider(self.window.settings.dueAt ?? self.ping.deadline(isBusy: self.streams.count > 0))
        }
        return next
    }

    enum TickAction {
        case nothing
        /// Close the connection: it did not end in time.
        case close
        /// Drop the connection: SETTINGS did not come in time.
        case dropForSettings
        /// Drop the connection: a PING was not answered in time.
        case dropForPing
    }

    /// Returns the action that is due, if any.
    mutating func tick(now: Moment) -> TickAction {
        self.refusals.tick(now: now.monotonic)
        if let until = self.state.closesAt, until <= now.monotonic { return .close }
        guard !self.isFinished else { return .nothing }
        if let due = self.window.settings.dueAt, due <= now.monotonic { return .dropForSettings }
        switch self.ping.tick(now: now, isBusy: self.streams.count > 0) {
        case .nothing: return .nothing
        case .drop: return .dropForPing
        case .ping:
            self.streams.ping()
            return .nothing
        }
    }
}
