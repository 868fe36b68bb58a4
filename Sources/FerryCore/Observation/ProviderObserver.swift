/// A receiver of a provider's activity, for metrics.
public protocol ProviderObserver: Sendable {
    /// Whether the provider measures ``ProviderActivity/times``. It reads this once, when it is made. False unless given.
    ///
    /// Cost: a few nanoseconds for each notification, and a look at the clock for each turn of the event loop.
    var wantsTimes: Bool { get }

    /// Called after each turn of a provider's event loop in which something changed. One call covers all notifications
    /// of that turn, and with several event loops maybe several turns.
    ///
    /// It is called on an event loop, and must not block, because it stops everything else on that loop. If the loop
    /// has ended before the provider, the last call comes on the thread that noticed. Calls for one provider never
    /// overlap.
    func observed(_ activity: ProviderActivity)
}

extension ProviderObserver {
    /// False: the times are not measured.
    public var wantsTimes: Bool { false }
}

/// The activity of a provider since the last call of its observer, and its present queues.
///
/// It has no device token, topic, tag or connection, so its keys may become dimensions. A reason may be the peer's own
/// text; see ``Reason/isKnown``.
public struct ProviderActivity: Hashable, Sendable {
    /// The number of notifications that the provider took from its callers.
    public var taken = 0
    /// The number of notifications that got their outcome.
    public var outcomes = OutcomeCounts()
    /// The causes for which notifications were not accepted.
    public var causes = OutcomeCauses()
    /// The number of copies beyond the first that were written. A copy that never left stays counted here, but not in
    /// ``DrainReport/resent``.
    public var resent = 0
    /// The number of outcomes that turned out wrong.
    public var contradicted = 0
    /// The number of connections that were opened.
    public var connected = 0
    /// The number of open connections that ended.
    public var disconnected = 0
    /// The troubles with connections, credentials or the peer, by kind.
    public var failures: [ProviderError.Code: Int] = [:]
    /// The PINGs over HTTP/2.
    public var pings = Pings()
    /// The times from the submission of notifications to their outcomes. Empty unless ``ProviderObserver/wantsTimes`` is
    /// true.
    ///
    /// A time begins when the event loop takes the notification, and ends with the turn that delivers the outcome. The
    /// wait of ``PushProvider/submit(_:)`` for room is not part of it.
    public var times: [TimedOutcome: DurationSample] = [:]

    /// The present sizes of the provider's queues.
    public var standing = Standing()

    /// The sizes of a provider's queues.
    public struct Standing: Hashable, Sendable {
        /// Notifications that wait to be written, including those of ``delayed``. Over the binary protocol,
        /// notifications that are sent again after their outcome also count here and in ``unsettled``.
        public var queued = 0
        /// Notifications that wait for the time of their next attempt.
        public var delayed = 0
        /// Notifications that were written and are not settled.
        public var unsettled = 0
        /// Outcomes that wait for the reader of ``PushProvider/outcomes``; 0 once the provider has ended.
        public var unread = 0
        /// Open connections.
        public var connections = 0

        /// Creates empty queues.
        public init() {}
    }

    /// Creates an activity in which nothing happened.
    public init() {}

    /// Adds the activity of another turn. ``standing`` stays.
    package mutating func add(_ other: ProviderActivity) {
        self.taken += other.taken
        self.outcomes.add(other.outcomes)
        self.causes.add(other.causes)
        self.resent += other.resent
        self.contradicted += other.contradicted
        self.connected += other.connected
        self.disconnected += other.disconnected
        self.failures.merge(other.failures, uniquingKeysWith: +)
        self.pings.add(other.pings)
        self.times.add(other.times)
    }
}

extension ProviderActivity.Standing {
    /// Adds the queues of another event loop. ``unread`` stays, because all loops have one reader.
    package mutating func add(_ other: ProviderActivity.Standing) {
        self.queued += other.queued
        self.delayed += other.delayed
        self.unsettled += other.unsettled
        self.connections += other.connections
    }
}

/// The numbers of notifications that were not accepted, by cause.
///
/// The sum of each table is the count of the same name in ``OutcomeCounts``.
public struct OutcomeCauses: Hashable, Sendable {
    /// The rejected notifications, by reason.
    public var rejected: [Reason: Int] = [:]
    /// The notifications that were certainly not delivered, by cause.
    public var undelivered: [Outcome.UndeliveredCause: Int] = [:]
    /// The notifications that may or may not have arrived, by cause.
    public var uncertain: [Outcome.UncertainCause: Int] = [:]

    /// Creates empty tables.
    public init() {}

    /// Adds `count` notifications with `outcome`. Outcomes without a cause are not counted.
    public mutating func add(_ outcome: Outcome, count: Int = 1) {
        guard count > 0 else { return }
        switch outcome {
        case .accepted, .expired: break
        case .rejected(let rejection): self.rejected[rejection.reason, default: 0] += count
        case .undelivered(let cause): self.undelivered[cause, default: 0] += count
        case .uncertain(let cause): self.uncertain[cause, default: 0] += count
        }
    }
    /// Adds the counts of `other`, cause by cause.
    package mutating func add(_ other: OutcomeCauses) {
        self.rejected.merge(other.rejected, uniquingKeysWith: +)
        self.undelivered.merge(other.undelivered, uniquingKeysWith: +)
        self.uncertain.merge(other.uncertain, uniquingKeysWith: +)
    }
}
