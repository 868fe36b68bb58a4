internal import NIOCore

/// The peer's conduct on a connection: the server errors (5xx) and refused streams in a row, without another answer.
///
/// ```
///           fifth in a row, a refusal,                 nothing is under way,
///           and others are under way                   an error, or a second
///   serving ─────────────────────────▶ suspended ──────────────────────────▶ useless ───▶ counted
///     │  ▲                                │                                     ▲             ▲
///     │  └──────── another answer ────────┘                                     │             │
///     ├──────────────────────────── fifth in a row ─────────────────────────────┘             │
///     └───────────────── the peer has closed it, and did no work on it ───────────────────────┘
/// ```
///
/// A peer that allows fewer streams than its SETTINGS say refuses many at once, and answers the others soon. So after
/// refusals the connection is only suspended while some of its requests may still be answered.
struct Conduct {
    private enum State {
        /// The number of errors and refusals in a row.
        case serving(inARow: Int)
        /// No new request is written. An answer before that time clears the connection.
        case suspended(until: NIODeadline)
        /// The connection gets no new request any more.
        case useless
        /// The same, and the outage knows of it.
        case counted
    }

    /// The number of errors or refusals in a row that are the connection's fault, and not that of single notifications.
    static let limit = 5
    /// The time for an answer on a suspended connection.
    static let patience: TimeAmount = .seconds(1)

    private var state = State.serving(inARow: 0)
    /// Whether the last in a row was a refused stream.
    private var wasRefused = false
    /// Whether any answer was not a server error.
    private var hasServed = false

    /// Whether new requests may be written.
    var mayWrite: Bool { if case .serving = self.state { true } else { false } }

    var isUseless: Bool {
        switch self.state {
        case .useless, .counted: true
        case .serving, .suspended: false
        }
    }

    var isCounted: Bool { if case .counted = self.state { true } else { false } }

    /// Whether the peer has answered with errors or refusals alone.
    var isFruitless: Bool { self.hasFailed && !self.hasServed }

    /// The number of errors and refusals since the last other answer.
    var inARow: Int { if case .serving(let inARow) = self.state { inARow } else { Self.limit } }

    /// Whether the last request was answered with an error or refused.
    var hasFailed: Bool { if case .serving(inARow: 0) = self.state { false } else { true } }

    /// The peer's last fault, in words for messages.
    var fault: String { self.wasRefused ? "refuses one request after the other" : "answers with server errors only" }

    /// When a suspension ends in ``tick(now:underWay:)``; nil without one.
    var deadline: NIODeadline? { if case .suspended(let until) = self.state { until } else { nil } }

    /// Notes an answer other than a server error.
    mutating func served() {
        self.hasServed = true
        switch self.state {
        case .serving, .suspended: self.state = .serving(inARow: 0)
        case .useless, .counted: break
        }
    }

    /// Notes a server error.
    mutating func failed() {
        self.wasRefused = false
        switch self.state {
        case .serving(let inARow) where inARow + 1 < Self.limit: self.state = .serving(inARow: inARow + 1)
        case .serving, .suspended: self.state = .useless
        case .useless, .counted: break
        }
    }

    /// Notes a refused stream.
    mutating func refused(now: NIODeadline) {
        self.wasRefused = true
        switch self.state {
        case .serving(let inARow) where inARow + 1 < Self.limit: self.state = .serving(inARow: inARow + 1)
        case .serving: self.state = .suspended(until: now + Self.patience)
        case .suspended, .useless, .counted: break
        }
    }

    /// Ends a suspension that no answer can end any more, or whose time is over.
    mutating func tick(now: NIODeadline, underWay: Int) {
        guard case .suspended(let until) = self.state, underWay == 0 || until <= now else { return }
        self.state = .useless
    }

    /// Notes that the outage knows of the connection. It must not know of one connection twice.
    mutating func count() { self.state = .counted }
}
