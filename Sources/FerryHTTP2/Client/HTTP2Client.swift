internal import DequeModule
package import FerryCore
package import FerryMachine
internal import NIOCore

/// A client of APNs over HTTP/2, without I/O. Notifications, bytes, events and time go in. Bytes, steps, outcomes and
/// events come out.
///
/// The life of a notification:
///
/// ```
///             submit             write                answer
///   ─────────▶ queued ──────────▶ under way ────────────────────────────────▶ settled
///               ▲ │ deadline,      │  │ │ nothing says what became of it ────▶ settled (uncertain), or queued again
///               │ │ expired,       │  │ └ APNs asks to wait ──▶ delayed ──┐
///               │ ▼ withdrawn      │  │                                   │
///               │ settled          │  └ not processed, new token ──┐      │
///               └──────────────────┴────────────────────────────────┴──────┘
/// ```
package struct HTTP2Client: ProviderMachine, ~Copyable {
    /// The length of one TLS record. With larger writes, client and server take turns and each idles.
    package static let chunk = 16 << 10

    package static func chunk(of id: ConnectionID) -> Int { self.chunk }
    /// The number of requests up to which each notification waits for the answer to another.
    static let narrowWindow = 4
    /// "After 15 minutes, you can retry JSON payloads that receive response status codes that begin with 5XX" (Apple).
    /// The waits grow from there.
    static let serverRetry: ClosedRange<Duration> = .seconds(15 * 60) ... .seconds(4 * 3600)
    /// "You can retry with a delay, if you get the error code TooManyRequests" (Apple, which does not say how long).
    static let deviceRetry: ClosedRange<Duration> = .seconds(1) ... .seconds(60)

    let options: HTTP2Options
    let deadline: TimeAmount
    let limits: ConnectionLimits
    let usesTokens: Bool
    /// The name of the peer in messages.
    let peer: String
    /// Whether connections go through a proxy.
    let hasProxy: Bool
    var fields: RequestFields
    /// The present permission to write requests.
    package internal(set) var authorization: Authorization
    /// The token that APNs refused last, and why. Nil after another token is used, or after the hold was reported.
    var tokenRefusal: (token: ProviderToken, reason: Reason)?
    package var outcomes = OutcomeLog()
    /// Whether no further notification may be written; see `ProviderMachine`.
    package var isPaused = false
    /// Whether the program wants `transmitted` events. They cost an allocation for each flush.
    package var reportsTransmitted = false
    package internal(set) var isShuttingDown = false

    /// Notifications that were not attempted yet.
    var fresh = RunQueue()
    /// Attempts to send again now, in the order of submission. So the first one reaches its deadline first.
    var again: Deque<Attempt> = []
    var delayed: DelayQueue
    /// The attempts under way on all connections.
    var written = WrittenAttempts()
    var connections = Connections()
    var dialling: Dialling
    var earned: EarnedWindow
    var breaker: CircuitBreaker
    var outage: ServiceOutage
    var suspects = Suspects()
    var keys = TokenKeys()
    /// Whether the connections of a replaced key must still be left.
    var owesLeaving = false
    var pacer: DevicePacer
    var generator: SplitMix64
    let identifiers: APNSIDMaker
    var order = SubmissionOrder()
    private var steps: [ConnectionStep] = []
    private var events: [ProviderEvent] = []
    var keyMove = KeyMove()
    /// The PINGs on connections that are gone, since the owner last took their counts.
    var pings = ProviderActivity.Pings()
    /// Whether the owner takes the counts of PINGs.
    var countsPings = false
    /// Whether a notification was submitted since all were last settled.
    var isIncomplete = false

    /// - Parameters:
    ///   - authority: the value of `:authority`.
    ///   - proxy: host and port of the proxy in front of the peer; nil without one.
    ///   - bundleID: the topic of notifications without one.
    ///   - dials: the new connections of all clients of the provider.
    ///   - seed: the seed of the jitter and of the `apns-id`s.
    package init(
        options: HTTP2Options,
        authority: String,
        proxy: String? = nil,
        bundleID: String?,
        usesTokens: Bool,
        dials: DialRegister = DialRegister(),
        seed: UInt64? = nil
    ) {
        self.options = options
        self.deadline = max(TimeAmount(options.deadline), .nanoseconds(1))
        self.limits = ConnectionLimits(options, usesTokens: usesTokens)
        self.earned = EarnedWindow(limit: self.limits.maxStreams)
        self.dialling = Dialling(options, register: dials)
        self.usesTokens = usesTokens
        self.peer = authority + (proxy.map { " (through the proxy \($0))" } ?? "")
        self.hasProxy = proxy != nil
        self.fields = RequestFields(
            authority: authority,
            check: RequestCheck(bundleID: bundleID, usesTokens: usesTokens)
        )
        self.authorization = usesTokens ? .held(until: .distantPast) : .certificate
        self.delayed = DelayQueue(limit: options.delayLimit)
        self.breaker = CircuitBreaker(options.circuitBreaker)
        self.outage = ServiceOutage(pauses: options.backOff)
        self.pacer = DevicePacer(options.devicePacing)
        self.generator = SplitMix64(seed: seed ?? .random(in: .min ... .max))
        self.identifiers = APNSIDMaker(seed: seed)
    }

    // MARK: Queries

    package var queuedCount: Int { self.fresh.count + self.again.count + self.delayedCount }

    /// The number of queued notifications that wait for a later time.
    package var delayedCount: Int { self.delayed.count + self.suspects.count }

    package var unsettledCount: Int { self.connections.underWay }

    /// Whether every notification has its outcome.
    package var isSettled: Bool { self.queuedCount == 0 && self.unsettledCount == 0 }

    /// Whether a shutdown is complete: every notification is settled and every connection is closed.
    package var isFinished: Bool {
        self.isShuttingDown && self.isSettled && self.connections.isEmpty && self.dialling.current == nil
    }

    /// The only connection, if it is full with few requests: everything in the queue waits for its next answer.
    /// Otherwise nil.
    package var bottleneck: ConnectionID? {
        self.hasWork ? self.connections.bottleneck(atMost: Self.narrowWindow) : nil
    }

    /// Whether a request waits for a token.
    package var needsAuthorization: Bool {
        self.usesTokens && self.hasWork && !self.connections.isEmpty
    }

    /// Whether a notification waits for a connection.
    var hasWork: Bool { !self.fresh.isEmpty || !self.again.isEmpty }

    // MARK: Steps and events

    // An empty array costs nothing. An array that was returned is replaced and not emptied, because emptying would copy
    // it.
    package mutating func takeSteps() -> [ConnectionStep] {
        defer { if !self.steps.isEmpty { self.steps = [] } }
        return self.steps
    }

    package mutating func takeEvents() -> [ProviderEvent] {
        defer { if !self.events.isEmpty { self.events = [] } }
        return self.events
    }

    mutating func act(_ step: ConnectionStep) { self.steps.append(step) }

    mutating func report(_ event: ProviderEvent) {
        if let error = event.providerError { self.outcomes.failed(error) }
        self.events.append(event)
    }

    /// Takes the present provider token, or the news that there is none.
    package mutating func authorized(_ authorization: Authorization) {
        guard authorization != self.authorization else { return }
        self.authorization = authorization
        guard case .token(let token) = authorization else { return }
        self.fields.authorize(token)
        if self.keys.use(token) { self.owesLeaving = true }
    }
}
