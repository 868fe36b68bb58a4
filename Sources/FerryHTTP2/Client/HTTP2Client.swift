internal import DequeModule
package import FerryCore
package import FerryMachine
internal import NIOCore

/// A client of APNs over HTTP/2, without I/O: notifications, bytes, events and time in; bytes, actions, outcomes and
/// events out.
///
/// What becomes of a notification:
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
    package typealias End = ConnectionEnd

    /// One TLS record: with larger writes, client and server take turns and each idles.
    package static let chunk = 16 << 10
    /// Where so few requests may be under way, each waits for the answer to another.
    static let narrowWindow = 4
    /// "After 15 minutes, you can retry JSON payloads that receive response status codes that begin with 5XX" (Apple).
    /// Then back-off.
    static let serverRetry: ClosedRange<Duration> = .seconds(15 * 60) ... .seconds(4 * 3600)
    /// "You can retry with a delay, if you get the error code TooManyRequests" (Apple, which does not say how long).
    static let deviceRetry: ClosedRange<Duration> = .seconds(1) ... .seconds(60)

    let options: HTTP2Options
    let deadline: TimeAmount
    let limits: ConnectionLimits
    let usesTokens: Bool
    let authority: String
    var fields: RequestFields
    /// By what right requests are written.
    package internal(set) var authorization: Authorization
    /// The token that APNs refused last, and why, until another is used or it was told that there is none.
    var tokenRefusal: (token: ProviderToken, reason: Reason)?
    package var outcomes = OutcomeLog()
    /// Whether outcomes wait for their reader, so that nothing more may be written.
    package var isPaused = false
    /// Whether anyone wants `transmitted` events, which cost an allocation for each flush.
    package var reportsTransmitted = false
    package internal(set) var isShuttingDown = false

    /// What was not attempted yet.
    var fresh = RunQueue()
    /// What is to be sent again now, in the order of submission: so the first is the first to be late.
    var again: Deque<Attempt> = []
    var delayed: DelayQueue
    var connections = Connections()
    var dialling: Dialling
    var earned: EarnedWindow
    var breaker: CircuitBreaker
    var keys = TokenKeys()
    /// Whether the connections of another key are still to be left.
    var owesLeaving = false
    var pacer: DevicePacer
    var generator: SplitMix64
    var identifiers: APNSIDSource
    private var steps: [ConnectionStep] = []
    private var events: [ProviderEvent] = []
    var keyMove = KeyMove()
    /// Whether something was submitted since all was settled last.
    var isIncomplete = false

    /// - Parameters:
    ///   - authority: the value of `:authority`.
    ///   - bundleID: the topic of notifications that name none.
    ///   - seed: of the jitter and of the `apns-id`s.
    package init(
        options: HTTP2Options,
        authority: String,
        bundleID: String?,
        usesTokens: Bool,
        seed: UInt64? = nil
    ) {
        self.options = options
        self.deadline = max(TimeAmount(options.deadline), .nanoseconds(1))
        self.limits = ConnectionLimits(options, usesTokens: usesTokens)
        self.earned = EarnedWindow(limit: self.limits.maxStreams)
        self.dialling = Dialling(options)
        self.usesTokens = usesTokens
        self.authority = authority
        self.fields = RequestFields(
            authority: authority,
            check: RequestCheck(bundleID: bundleID, usesTokens: usesTokens)
        )
        self.authorization = usesTokens ? .held(until: .distantPast) : .certificate
        self.delayed = DelayQueue(limit: options.delayLimit)
        self.breaker = CircuitBreaker(options.circuitBreaker)
        self.pacer = DevicePacer(options.devicePacing)
        self.generator = SplitMix64(seed: seed ?? .random(in: .min ... .max))
        self.identifiers = APNSIDSource(seed: seed)
    }

    // MARK: What there is

    package var queuedCount: Int { self.fresh.count + self.again.count + self.delayed.count }

    /// How many of those wait for a time to come.
    package var delayedCount: Int { self.delayed.count }

    package var unsettledCount: Int { self.connections.underWay }

    /// Whether everything has its outcome.
    package var isSettled: Bool { self.queuedCount == 0 && self.unsettledCount == 0 }

    /// Whether a shutdown is complete: everything settled and every connection gone.
    package var isFinished: Bool {
        self.isShuttingDown && self.isSettled && self.connections.isEmpty && self.dialling.current == nil
    }

    /// The connection on whose next answer all that is queued waits, where few may be under way; nil otherwise.
    package var bottleneck: ConnectionID? {
        self.hasWork ? self.connections.bottleneck(atMost: Self.narrowWindow) : nil
    }

    /// Whether something could be written if there were a token.
    package var needsAuthorization: Bool {
        self.usesTokens && self.hasWork && !self.connections.isEmpty
    }

    /// Whether something could be written if there were a connection.
    var hasWork: Bool { !self.fresh.isEmpty || !self.again.isEmpty }

    // MARK: What to do

    // An empty array costs nothing, and one that was handed out is not emptied but replaced.
    package mutating func takeSteps() -> [ConnectionStep] {
        defer { if !self.steps.isEmpty { self.steps = [] } }
        return self.steps
    }

    package mutating func takeEvents() -> [ProviderEvent] {
        defer { if !self.events.isEmpty { self.events = [] } }
        return self.events
    }

    mutating func act(_ step: ConnectionStep) { self.steps.append(step) }

    mutating func report(_ event: ProviderEvent) { self.events.append(event) }

    /// Takes the provider token that is good now, or that there is none.
    package mutating func authorized(_ authorization: Authorization) {
        guard authorization != self.authorization else { return }
        self.authorization = authorization
        guard case .token(let token) = authorization else { return }
        self.fields.authorize(token)
        if self.keys.use(token) { self.owesLeaving = true }
    }
}
