internal import FerryMachine
internal import NIOCore

/// A stop for sending while APNs rejects many notifications in a row, for reasons for which it closes connections. Server
/// errors are counted for each connection; see ``Conduct``.
///
/// ```
///            threshold in a row                      pause over
///   closed ─────────────────────▶ open (nothing) ───────────────▶ half open (a few)
///     ▲                             │  ▲                              │     │
///     └─────── any other answer ────┴──┼──────── any other answer ────┼─────┘
///                                      └──────── all rejected ────────┘
/// ```
struct CircuitBreaker {
    private enum State {
        case closed(inARow: Int)
        case open(until: NIODeadline, Cause)
        /// `left` more notifications may be sent, and `rejected` of the others were rejected.
        case halfOpen(left: Int, rejected: Int, Cause)
    }

    /// The cause of the last rejection before sending stopped.
    private enum Cause {
        /// APNs refused the provider.
        case provider
        case notification
    }

    /// The number of rejections of the provider in a row that is enough if APNs has given no other answer yet. The
    /// fault is then not in single notifications. A higher number would take long at the cold start, with one request
    /// at a time.
    static let firstRefusals = 10

    private let options: HTTP2Options.CircuitBreaker?
    /// Whether APNs has ever accepted the provider.
    private var isProven = false
    private var state = State.closed(inARow: 0)
    private var pauses: BackOff

    init(_ options: HTTP2Options.CircuitBreaker?) {
        self.options = options
        self.pauses = BackOff(options?.pause ?? .seconds(1) ... .seconds(1))
    }

    /// The number of notifications that may be sent now; nil for any number.
    mutating func allowance(now: NIODeadline) -> Int? {
        switch self.state {
        case .closed: return nil
        case .halfOpen(let left, _, _): return left
        case .open(let until, let cause):
            guard until <= now else { return 0 }
            self.state = .halfOpen(left: self.trial, rejected: 0, cause)
            return self.trial
        }
    }

    /// The number of notifications that are tried after a pause.
    private var trial: Int { max(self.options?.trial ?? 1, 1) }

    /// Whether sending stopped because APNs refuses the provider, and nothing shows yet that APNs accepts it again.
    var refusesProvider: Bool {
        switch self.state {
        case .open(_, .provider), .halfOpen(_, _, .provider): true
        case .closed, .open, .halfOpen: false
        }
    }

    /// Ends a pause whose time is over.
    mutating func tick(now: NIODeadline) { _ = self.allowance(now: now) }

    mutating func sent() {
        if case .halfOpen(let left, let rejected, let cause) = self.state {
            self.state = .halfOpen(left: max(left - 1, 0), rejected: rejected, cause)
        }
    }

    /// Notes an answer; returns whether sending stops because of it.
    ///
    /// - Parameter refusesProvider: whether APNs refused the provider and not the notification.
    mutating func answered(
        countsAgainstConnection: Bool,
        refusesProvider: Bool,
        now: NIODeadline,
        using generator: inout SplitMix64
    ) -> Bool {
        guard let options else { return false }
        if !refusesProvider { self.isProven = true }
        let threshold = self.isProven ? options.threshold : min(options.threshold, Self.firstRefusals)
        guard countsAgainstConnection else {
            self.state = .closed(inARow: 0)
            self.pauses.reset()
            return false
        }
        switch self.state {
        case .closed(let inARow) where inARow + 1 < threshold:
            self.state = .closed(inARow: inARow + 1)
            return false
        case .open:
            // The request was still under way when sending stopped.
            return false
        case .halfOpen(let left, let rejected, let cause) where left > 0 || rejected + 1 < self.trial:
            self.state = .halfOpen(left: left, rejected: rejected + 1, cause)
            return false
        case .closed, .halfOpen:
            self.state = .open(
                until: now + self.pauses.fail(using: &generator),
                refusesProvider ? .provider : .notification
            )
            return true
        }
    }

    /// When sending may go on.
    var deadline: NIODeadline? {
        if case .open(let until, _) = self.state { until } else { nil }
    }

    /// Notes that no request is under way. If all trial notifications were sent without a decision, allows as many
    /// again.
    mutating func nothingUnderWay() {
        if case .halfOpen(left: 0, _, let cause) = self.state {
            self.state = .halfOpen(left: self.trial, rejected: 0, cause)
        }
    }
}
