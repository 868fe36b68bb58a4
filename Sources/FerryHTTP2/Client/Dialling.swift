internal import FerryCore
internal import FerryMachine
internal import NIOCore

/// The decision when a client makes its next connection.
///
/// ```
///             a wait was asked for                time passes
///   ready ────────────────────────▶ waiting ──────────────────────▶ ready
///     │                              │ ▲
///     │ begin      begin, time passed│ │ it is made or has failed, and a wait was asked for meanwhile
///     ▼                              ▼ │
///   dialling ──────────────────────────┴── it is made or has failed ──▶ ready
/// ```
struct Dialling {
    private enum State {
        /// The next connection may be made at once.
        case ready
        /// No connection may be made before that time.
        case waiting(until: NIODeadline)
        /// A connection is being made since that time. The next one may not be made before `next`.
        case dialling(ConnectionID, since: NIODeadline, next: NIODeadline?)
    }

    private var state = State.ready
    private var failures: ConnectionFailures
    /// The identifier of the connection that was started last; 0 if none was.
    private(set) var lastID: UInt64 = 0
    private let register: DialRegister
    /// The waits after ENHANCE_YOUR_CALM. A peer may answer requests before it sends that. So an answer ends the waits
    /// only on a connection that has lasted as long as the longest wait.
    private var calmBackOff: BackOff
    /// The time between two connections that take the place of useless ones. The first is made at once. A peer that
    /// fails half of all requests would otherwise get several new connections each second.
    private static let replacementPause: TimeAmount = .seconds(1)
    /// When the next useless connection may have its successor.
    private var replacementAt = NIODeadline.distantPast
    /// The connection that was started last when a useless one was left.
    private var lastIDAtReplacement: UInt64 = 0

    init(_ options: HTTP2Options, register: DialRegister) {
        self.register = register
        self.failures = ConnectionFailures(
            limit: RetryLimit(count: options.connectionRetryLimit, time: options.connectionRetryTime),
            waits: options.backOff,
            retriesLastingErrors: options.retriesLastingErrors
        )
        self.calmBackOff = BackOff(options.backOff)
    }

    // MARK: Dials

    /// The connection that is being made; nil if none is.
    var current: ConnectionID? {
        if case .dialling(let id, _, _) = self.state { id } else { nil }
    }

    /// Whether the next connection waits only for the limit of new connections, and not because of the peer.
    var waitsForLimitAlone: Bool {
        guard case .waiting = self.state else { return false }
        return !self.failures.hasFailed && self.calmBackOff.failures == 0
    }

    /// When the next connection may be made; nil if it may be made at once, or while one is being made.
    var deadline: NIODeadline? {
        if case .waiting(let until) = self.state { until } else { nil }
    }

    /// Starts a connection, if one may be made now; returns its identifier.
    mutating func begin(now: NIODeadline) -> ConnectionID? {
        switch self.state {
        case .dialling: return nil
        case .waiting(let until) where until > now: return nil
        case .waiting, .ready: break
        }
        switch self.register.request(now: now) {
        case .later(let time):
            self.state = .waiting(until: time)
            return nil
        case .granted(let id):
            self.lastID = id.rawValue
            self.state = .dialling(id, since: now, next: nil)
            return id
        }
    }

    /// Notes that a connection was made or has failed. Returns when it was started; nil if `id` is not the connection
    /// that is being made.
    mutating func end(_ id: ConnectionID) -> NIODeadline? {
        guard case .dialling(id, let since, let next) = self.state else { return nil }
        self.state = next.map { .waiting(until: $0) } ?? .ready
        return since
    }

    /// Gives up the connection that is being made, and returns it.
    mutating func cancel() -> ConnectionID? {
        guard let current = self.current else { return nil }
        _ = self.end(current)
        return current
    }

    /// Ends a wait whose time is over.
    mutating func tick(now: NIODeadline) {
        switch self.state {
        case .waiting(let until) where until <= now: self.state = .ready
        case .dialling(let id, let since, .some(let next)) where next <= now:
            self.state = .dialling(id, since: since, next: nil)
        case .ready, .waiting, .dialling: break
        }
    }

    // MARK: Waits

    /// Notes that a connection is left because the peer does no work on it. All that are left before the next one is
    /// made count as one. Otherwise many at once would stop the client for as many seconds.
    mutating func leftUseless(now: NIODeadline) {
        guard self.lastID != self.lastIDAtReplacement else { return }
        self.lastIDAtReplacement = self.lastID
        if now < self.replacementAt { self.wait(self.replacementAt - now, now: now) }
        self.replacementAt = max(now, self.replacementAt) + Self.replacementPause
    }

    /// Allows no connection for this time. A longer wait from before continues.
    private mutating func wait(_ wait: TimeAmount, now: NIODeadline) {
        let until = now + wait
        switch self.state {
        case .ready: self.state = .waiting(until: until)
        case .waiting(let earlier): self.state = .waiting(until: max(earlier, until))
        case .dialling(let id, let since, let next):
            self.state = .dialling(id, since: since, next: max(next ?? until, until))
        }
    }

    /// Notes an ENHANCE_YOUR_CALM from the peer.
    mutating func calm(now: NIODeadline, using generator: inout SplitMix64) {
        self.wait(self.calmBackOff.fail(using: &generator), now: now)
    }

    /// Whether the error gives up the queue without a retry.
    func isFinal(_ error: ProviderError) -> Bool { self.failures.isFinal(error) }

    /// Notes that the queue was given up because of an error that no retry can cure.
    mutating func gaveUp(now: NIODeadline, using generator: inout SplitMix64) {
        self.wait(self.failures.refused(using: &generator), now: now)
    }

    /// Notes an answer on a connection that was made at `start`.
    mutating func answered(since start: NIODeadline, now: NIODeadline) {
        self.failures.worked()
        if start + self.calmBackOff.cap <= now { self.calmBackOff.reset() }
    }

    enum FailureAction: Equatable {
        case dialAgain
        /// Give up the queue, because this many connections in a row have failed since that time.
        case giveUp(failures: Int, since: NIODeadline)
    }

    /// Notes a connection that failed or brought no answer.
    ///
    /// - Parameter start: when the failures began, if it is the first in a row.
    mutating func failed(
        since start: NIODeadline,
        now: NIODeadline,
        using generator: inout SplitMix64
    ) -> FailureAction {
        switch self.failures.failed(since: start, now: now, using: &generator) {
        case .dialAgain(let wait):
            self.wait(wait, now: now)
            return .dialAgain
        case .giveUp(let failures, let since, let wait):
            self.wait(wait, now: now)
            return .giveUp(failures: failures, since: since)
        }
    }
}
