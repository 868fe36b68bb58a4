public import CoreMetrics
public import FerryCore

/// The metrics of a provider, for any backend of swift-metrics.
///
/// ```swift
/// configuration.observer = ProviderMetrics(factory: MetricsSystem.factory, dimensions: [("provider", "production")])
/// ```
///
/// The names and their dimensions are in <doc:MetricsAndSpans>. Each name is valid in Prometheus. The values
/// of a dimension are a closed set, and each exists from the beginning with 0. Ferry adds no device token, tag or
/// connection.
///
/// Cost: a few calls of the backend for each turn of the event loop, for any number of notifications. A timer takes at
/// most 64 times a turn. With the backend that drops everything, no time is measured.
///
/// Each provider needs its own metrics, with dimensions that distinguish the providers. Otherwise two providers would
/// set the same gauges.
public struct ProviderMetrics: ProviderObserver {
    /// The dimension's value for a reason that Ferry does not know. A peer could otherwise make any number of series.
    static let other = "other"
    private static let ownDimensions: Set = ["outcome", "reason", "cause", "code", "protocol"]

    /// Whether the times of outcomes are measured: true unless the backend drops everything.
    public let wantsTimes: Bool
    private let taken: Counter
    private let confirmed: Counter
    private let presumed: Counter
    private let rejected: Counter
    private let expired: Counter
    private let undelivered: Counter
    private let uncertain: Counter
    private let rejections: [String: Counter]
    private let undeliveredCauses: [Outcome.UndeliveredCause: Counter]
    private let uncertainCauses: [Outcome.UncertainCause: Counter]
    private let resent: Counter
    private let contradicted: Counter
    private let connected: Counter
    private let disconnected: Counter
    private let failures: [ProviderError.Code: Counter]
    private let queued: Gauge
    private let delayed: Gauge
    private let unsettled: Gauge
    private let unread: Gauge
    private let connections: Gauge
    private let times: [ProviderActivity.TimedOutcome: Timer]
    private let pingsSent: Counter
    private let pingsAnswered: Counter
    private let pingsUnanswered: Counter
    private let pingTime: Timer

    /// Makes the metrics, each with 0.
    ///
    /// - Parameters:
    ///   - factory: the backend. `MetricsSystem.factory` is that of the program after `MetricsSystem.bootstrap`; before, it
    ///     drops everything.
    ///   - dimensions: further dimensions of each metric. Their values must be few. `outcome`, `reason`, `cause`, `code` and
    ///     `protocol` are Ferry's own names, and are left out here: a series cannot have a name twice.
    public init(factory: any MetricsFactory, dimensions: [(String, String)] = []) {
        let dimensions = dimensions.filter { !Self.ownDimensions.contains($0.0) }
        func counter(_ label: String, _ dimension: (String, String)? = nil) -> Counter {
            let counter = Counter(
                label: "ferry_\(label)_total",
                dimensions: dimensions + (dimension.map { [$0] } ?? []),
                factory: factory
            )
            counter.increment(by: 0)
            return counter
        }
        func counters<Key: Hashable>(
            _ label: String,
            _ dimension: String,
            _ keys: [Key],
            _ value: (Key) -> String
        ) -> [Key: Counter] {
            Dictionary(uniqueKeysWithValues: keys.map { ($0, counter(label, (dimension, value($0)))) })
        }
        func gauge(_ label: String) -> Gauge {
            let gauge = Gauge(label: "ferry_\(label)", dimensions: dimensions, factory: factory)
            gauge.record(0)
            return gauge
        }
        func timer(_ label: String, _ own: [(String, String)] = []) -> Timer {
            Timer(label: "ferry_\(label)_seconds", dimensions: dimensions + own, factory: factory)
        }
        self.wantsTimes = !(factory is NOOPMetricsHandler)
        self.taken = counter("notifications")
        self.confirmed = counter("outcomes", ("outcome", "confirmed"))
        self.presumed = counter("outcomes", ("outcome", "presumed"))
        self.rejected = counter("outcomes", ("outcome", "rejected"))
        self.expired = counter("outcomes", ("outcome", "expired"))
        self.undelivered = counter("outcomes", ("outcome", "undelivered"))
        self.uncertain = counter("outcomes", ("outcome", "uncertain"))
        self.rejections = counters("rejections", "reason", Reason.known.map(\.rawValue) + [Self.other]) { $0 }
        self.undeliveredCauses = counters("undelivered", "cause", Outcome.UndeliveredCause.allCases) { "\($0)" }
        self.uncertainCauses = counters("uncertain", "cause", Outcome.UncertainCause.allCases) { "\($0)" }
        self.resent = counter("copies")
        self.contradicted = counter("contradictions")
        self.connected = counter("connections_opened")
        self.disconnected = counter("connections_closed")
        self.failures = counters("failures", "code", ProviderError.Code.all) { "\($0)" }
        self.queued = gauge("queued_notifications")
        self.delayed = gauge("delayed_notifications")
        self.unsettled = gauge("unsettled_notifications")
        self.unread = gauge("unread_outcomes")
        self.connections = gauge("open_connections")
        var times: [ProviderActivity.TimedOutcome: Timer] = [:]
        for side in ProviderSide.allCases {
            for kind in OutcomeKind.allCases {
                let own = [("protocol", side.rawValue), ("outcome", "\(kind)")]
                times[ProviderActivity.TimedOutcome(over: side, kind)] = timer("outcome", own)
            }
        }
        self.times = times
        self.pingsSent = counter("pings_sent")
        self.pingsAnswered = counter("pings_answered")
        self.pingsUnanswered = counter("pings_unanswered")
        self.pingTime = timer("ping")
    }

    /// Hands the numbers to the backend.
    public func observed(_ activity: ProviderActivity) {
        self.taken.add(activity.taken)
        self.confirmed.add(activity.outcomes.confirmed)
        self.presumed.add(activity.outcomes.presumed)
        self.rejected.add(activity.outcomes.rejected)
        self.expired.add(activity.outcomes.expired)
        self.undelivered.add(activity.outcomes.undelivered)
        self.uncertain.add(activity.outcomes.uncertain)
        for (reason, count) in activity.causes.rejected {
            self.rejections[reason.dimension(unknown: Self.other)]?.add(count)
        }
        for (cause, count) in activity.causes.undelivered { self.undeliveredCauses[cause]?.add(count) }
        for (cause, count) in activity.causes.uncertain { self.uncertainCauses[cause]?.add(count) }
        self.resent.add(activity.resent)
        self.contradicted.add(activity.contradicted)
        self.connected.add(activity.connected)
        self.disconnected.add(activity.disconnected)
        for (code, count) in activity.failures { self.failures[code]?.add(count) }
        self.queued.record(activity.standing.queued)
        self.delayed.record(activity.standing.delayed)
        self.unsettled.record(activity.standing.unsettled)
        self.unread.record(activity.standing.unread)
        self.connections.record(activity.standing.connections)
        for (outcome, sample) in activity.times { self.times[outcome]?.record(sample) }
        self.pingsSent.add(activity.pings.sent)
        self.pingsAnswered.add(activity.pings.answered)
        self.pingsUnanswered.add(activity.pings.unanswered)
        self.pingTime.record(activity.pings.roundTrips)
    }
}

extension Counter {
    /// Most numbers of a turn are 0, and a call of the backend may take a lock.
    fileprivate func add(_ count: Int) {
        if count > 0 { self.increment(by: count) }
    }
}

extension Timer {
    fileprivate func record(_ sample: DurationSample) {
        for time in sample.nanoseconds { self.recordNanoseconds(time) }
    }
}
