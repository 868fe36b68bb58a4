internal import FerryMachine
internal import NIOCore

/// The pauses before new requests on a connection whose peer refuses or resets some. Each refusal in a row makes the
/// pause longer.
///
/// ```
///               refused
///   taking ─────────────────▶ paused ◀──┐ refused
///     ▲                        │   └────┘
///     └─── an answer, or time ─┘
/// ```
struct RefusalCount {
    private enum State {
        case taking
        /// No new request is written before that time.
        case paused(until: NIODeadline)
    }

    private var state = State.taking
    private var backOff = BackOff(.milliseconds(10) ... .seconds(1))

    /// When the pause ends; nil when there is none.
    var deadline: NIODeadline? {
        if case .paused(let until) = self.state { until } else { nil }
    }

    /// Whether new requests may be written.
    func mayWrite(now: NIODeadline) -> Bool {
        if case .paused(let until) = self.state { until <= now } else { true }
    }

    /// Notes that the peer refused or reset a request.
    mutating func refused(now: NIODeadline, using generator: inout SplitMix64) {
        self.state = .paused(until: now + self.backOff.fail(using: &generator))
    }

    /// Notes that the peer answered a request.
    mutating func answered() {
        self.state = .taking
        self.backOff.reset()
    }

    /// Ends a pause whose time is over.
    mutating func tick(now: NIODeadline) {
        if self.mayWrite(now: now) { self.state = .taking }
    }
}
