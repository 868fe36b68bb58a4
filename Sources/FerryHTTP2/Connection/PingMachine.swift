internal import FerryCore
internal import FerryMachine
internal import NIOCore

/// A check by PING whether a quiet peer is still there, and whether the path to it still works.
///
/// A NAT or a firewall forgets a quiet connection without a word. The next request would then be lost. So after an idle
/// time a PING goes first, and no request before its answer.
///
/// ```
///           quiet for the interval,                       no answer
///           or idle and a request waits     no answer     for 10 s
///   heard ────────────────────────▶ asked ──────────▶ doubtful ──▶ overdue
///     ▲                               │                  │
///     └─────────── answer ────────────┴───── answer ─────┘
/// ```
///
/// Source: RFC 9113, section 6.7.
struct PingMachine {
    struct Limits {
        /// How long a connection may be quiet before a PING.
        var interval: TimeAmount
        /// How long a connection may be quiet before a PING goes before the next request.
        var idle: TimeAmount
        /// How long a connection with requests under way may be quiet before a PING. Nil: as without them.
        var stall: TimeAmount?
    }

    private enum State {
        /// The path worked at that time.
        case heard(Moment)
        /// A PING was sent at that time.
        ///
        /// `holds`: the connection was idle, and no request is written before the answer.
        case asked(Moment, holds: Bool)
        /// The answer takes so long that new requests go to another connection. The PING was sent at that time.
        ///
        /// `isGivenUp`: the connection was left for that, and the PING was counted as unanswered.
        case doubtful(asked: Moment, isGivenUp: Bool)
        /// The answer did not come in time, so the connection is dead.
        case overdue
    }

    /// How long the answer to a PING may take.
    static let limit: TimeAmount = .seconds(10)
    /// The time that new requests wait for the answer, in addition to ``roundTrips``.
    static let patience: TimeAmount = .seconds(1)
    /// The number of shortest known round trips that new requests wait for the answer.
    static let roundTrips = 4
    /// The shortest wait on a busy connection.
    static let busyPatience: TimeAmount = .seconds(2)

    private let limits: Limits
    private var state: State
    /// The shortest time that an answer took; nil if none came.
    private(set) var roundTrip: TimeAmount?
    /// The PINGs since the owner last took their counts.
    private var pings = ProviderActivity.Pings()

    init(_ limits: Limits, now: Moment) {
        self.limits = limits
        self.state = .heard(now)
    }

    /// When ``tick(now:isBusy:)`` is due.
    ///
    /// - Parameter isBusy: whether requests are under way.
    func deadline(isBusy: Bool) -> NIODeadline? {
        switch self.state {
        case .heard(let last): last.monotonic + self.interval(isBusy: isBusy)
        case .asked(let asked, let holds): asked.monotonic + self.patience(holds: holds)
        case .doubtful(let asked, _): asked.monotonic + Self.limit
        case .overdue: nil
        }
    }

    /// When ``tick(now:isBusy:)`` would take the silence of the peer for a fault; nil while nothing was asked.
    var judgement: NIODeadline? {
        if case .heard = self.state { nil } else { self.deadline(isBusy: false) }
    }

    /// Whether new requests must go to another connection.
    var isDoubtful: Bool {
        switch self.state {
        case .heard, .asked: false
        case .doubtful, .overdue: true
        }
    }

    private func interval(isBusy: Bool) -> TimeAmount {
        guard isBusy, let stall = self.limits.stall else { return self.limits.interval }
        return min(stall, self.limits.interval)
    }

    private func patience(holds: Bool) -> TimeAmount {
        let patience = Self.patience + (self.roundTrip ?? .zero) * Self.roundTrips
        return min(holds ? patience : max(patience, Self.busyPatience), Self.limit)
    }

    /// Whether the connection was quiet for so long that the path may have forgotten it. The clock that also runs while
    /// the machine sleeps decides.
    private func isIdle(since last: Moment, now: Moment) -> Bool { last.boot + self.limits.idle <= now.boot }

    /// Whether an answer to a PING of that time says nothing about the present path: it may have waited in the socket
    /// while the machine slept, or while the process was stopped.
    private func isOutdated(_ asked: Moment, now: Moment) -> Bool {
        let (passed, awake) = (now.boot - asked.boot, now.monotonic - asked.monotonic)
        return passed - awake >= self.limits.idle || passed >= max(self.limits.idle, Self.limit)
    }

    /// Notes that bytes arrived. They do not answer a PING.
    ///
    /// After an idle time they prove nothing, because they may have waited in the socket while the process was stopped.
    mutating func heard(now: Moment) {
        guard case .heard(let last) = self.state, !self.isIdle(since: last, now: now) else { return }
        self.state = .heard(now)
    }

    /// Notes the time that an answer of the peer took.
    mutating func answerTook(_ time: TimeAmount) {
        if let roundTrip, roundTrip <= time { return }
        self.roundTrip = max(time, .zero)
    }

    /// Notes the answer to a PING.
    mutating func answered(now: Moment) {
        switch self.state {
        case .asked(let asked, _), .doubtful(let asked, isGivenUp: false):
            self.pings.wasAnswered(afterNanoseconds: (now.monotonic - asked.monotonic).nanoseconds)
            self.answered(asked, now: now)
        case .doubtful(let asked, isGivenUp: true):
            self.answered(asked, now: now)
        case .heard, .overdue:
            self.state = .heard(now)
        }
    }

    private mutating func answered(_ asked: Moment, now: Moment) {
        self.answerTook(now.monotonic - asked.monotonic)
        self.state = .heard(self.isOutdated(asked, now: now) ? asked : now)
    }

    /// Notes that the connection is left because it is doubtful. A late answer does not count then, because each PING has
    /// one fate.
    mutating func giveUp() {
        guard case .doubtful(let asked, isGivenUp: false) = self.state else { return }
        self.pings.unanswered += 1
        self.state = .doubtful(asked: asked, isGivenUp: true)
    }

    /// Returns the counts since the last call.
    mutating func takePings() -> ProviderActivity.Pings {
        defer { if !self.pings.isEmpty { self.pings = ProviderActivity.Pings() } }
        return self.pings
    }

    /// Notes that a PING goes out.
    private mutating func ask(now: Moment, holds: Bool) {
        self.pings.sent += 1
        self.state = .asked(now, holds: holds)
    }

    enum RequestAction {
        /// Write the request.
        case write
        /// Send a PING, and wait.
        case ping
        /// The request must wait for the answer to a PING, or for another connection.
        case wait
    }

    /// Returns the action for a request that could be written now.
    mutating func request(now: Moment) -> RequestAction {
        switch self.state {
        case .heard(let last):
            guard self.isIdle(since: last, now: now) else { return .write }
            self.ask(now: now, holds: true)
            return .ping
        case .asked(let asked, holds: false):
            guard self.isOutdated(asked, now: now) else { return .write }
            self.state = .asked(asked, holds: true)
            return .wait
        case .asked, .doubtful, .overdue: return .wait
        }
    }

    enum TickAction {
        case nothing
        /// Send a PING.
        case ping
        /// Drop the connection: it is dead.
        case drop
    }

    /// Returns the action that is due, if any.
    ///
    /// - Parameter isBusy: whether requests are under way.
    mutating func tick(now: Moment, isBusy: Bool) -> TickAction {
        switch self.state {
        case .heard(let last) where last.monotonic + self.interval(isBusy: isBusy) <= now.monotonic:
            self.ask(now: now, holds: self.isIdle(since: last, now: now))
            return .ping
        case .asked(let asked, _) where asked.monotonic + Self.limit <= now.monotonic,
            .doubtful(let asked, isGivenUp: false) where asked.monotonic + Self.limit <= now.monotonic:
            self.pings.unanswered += 1
            self.state = .overdue
            return .drop
        case .doubtful(let asked, isGivenUp: true) where asked.monotonic + Self.limit <= now.monotonic:
            self.state = .overdue
            return .drop
        case .asked(let asked, let holds) where asked.monotonic + self.patience(holds: holds) <= now.monotonic:
            self.state = .doubtful(asked: asked, isGivenUp: false)
            return .nothing
        case .heard, .asked, .doubtful, .overdue:
            return .nothing
        }
    }
}
