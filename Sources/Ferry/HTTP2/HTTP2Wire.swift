internal import FerryCore
internal import FerryHTTP2
internal import FerryMachine
internal import NIOCore

/// An ``HTTP2Client`` with whoever makes its provider tokens.
struct HTTP2Wire: ~Copyable {
    /// How many bytes are written at a time: one TLS record, with which APNs can begin while the next is made. Were it all
    /// that may be under way, each side would wait while the other works.
    private static let chunk = 16 << 10

    private var client: HTTP2Client
    /// Nil: a certificate speaks for the provider.
    private let tokens: ProviderTokenSource?
    /// What is to be told beside the client's events.
    private var events: [ProviderEvent] = []
    /// Whether it was told that there is no token.
    private var hasFailed = false
    /// How often the key had been replaced when a token was asked for last.
    private var replacements = 0

    init(_ client: consuming HTTP2Client, tokens: ProviderTokenSource?) {
        self.client = client
        self.tokens = tokens
    }

    /// Gets the token that is good now, if one would be used, or the key was replaced.
    private mutating func authorize(now: Moment) {
        guard let tokens else { return }
        let replacements = tokens.replacementCount
        guard self.client.needsAuthorization || replacements != self.replacements else { return }
        self.replacements = replacements
        let authorization = tokens.authorization(now: now.monotonic, epochSeconds: now.epochSeconds)
        self.client.authorization = authorization
        guard case .held = authorization, let failure = tokens.failure else { return self.hasFailed = false }
        if !self.hasFailed {
            let message = "Nothing is sent for want of a provider token: \(failure)"
            self.events.append(.error(ProviderError(.noProviderToken, message, cause: failure)))
        }
        self.hasFailed = true
    }

    /// Learns that the key was replaced before an answer is read that the old one may have caused.
    private mutating func noteReplacement(now: Moment) {
        if let tokens, tokens.replacementCount != self.replacements { self.authorize(now: now) }
    }
}

extension HTTP2Wire: ProviderWire {
    var outcomes: OutcomeLog { self.client.outcomes }

    var isPaused: Bool {
        get { self.client.isPaused }
        set { self.client.isPaused = newValue }
    }

    var reportsTransmitted: Bool {
        get { self.client.reportsTransmitted }
        set { self.client.reportsTransmitted = newValue }
    }

    var queuedCount: Int { self.client.queuedCount }
    var delayedCount: Int { self.client.delayedCount }
    var unsettledCount: Int { self.client.unsettledCount }
    var isSettled: Bool { self.client.isSettled }
    var isFinished: Bool { self.client.isFinished }
    var nextDeadline: NIODeadline? { self.client.nextDeadline }
    var bottleneck: ConnectionID? { self.client.bottleneck }

    // MARK: Out

    mutating func takeSteps(now: Moment) -> [WireStep] {
        self.client.takeActions().compactMap { action in
            switch action {
            case .dial(let id): return .dial(id)
            case .close(let id): return .close(id)
            case .finish(let id): return .finish(id)
            case .refused(let reason, let token):
                self.tokens?.refused(reason, token, now: now.monotonic)
                return nil
            }
        }
    }

    mutating func takeEvents() -> [ProviderEvent] {
        defer { if !self.events.isEmpty { self.events = [] } }
        return self.events + self.client.takeEvents()
    }

    mutating func takeOutcomes(_ empty: inout GivenOutcomes) {
        empty.exchange(with: &self.client.outcomes)
    }

    mutating func write(_ id: ConnectionID, into buffer: inout ByteBuffer, atMost limit: Int, now: Moment) -> Bool {
        self.authorize(now: now)
        return self.client.write(id, into: &buffer, atMost: min(limit, Self.chunk), now: now)
    }

    // MARK: In

    mutating func submit(_ run: BatchRun, now: Moment) { self.client.submit(run, now: now) }

    mutating func withdraw(_ tags: Set<UInt64>, now: Moment) { self.client.withdraw(tags, now: now) }

    mutating func tick(now: Moment) {
        // A token may have been waited for, also on a connection that takes nothing now.
        self.authorize(now: now)
        self.client.tick(now: now)
    }

    mutating func connected(_ id: ConnectionID, now: Moment) { self.client.connected(id, now: now) }

    mutating func received(_ id: ConnectionID, _ bytes: ByteBuffer, handed: UInt64, now: Moment) {
        self.noteReplacement(now: now)
        self.client.received(id, bytes, now: now)
    }

    mutating func flushed(_ id: ConnectionID, at offset: UInt64, now: Moment) {
        self.client.flushed(id, at: offset, now: now)
    }

    mutating func ended(_ id: ConnectionID, _ end: ConnectionEnd, handed: UInt64, now: Moment) {
        self.client.ended(id, end, handed: handed, now: now)
    }

    mutating func shutDown(proof: Proof, now: Moment) { self.client.shutDown(proof: proof, now: now) }

    mutating func abandon(
        undelivered: Outcome.UndeliveredCause,
        uncertain: Outcome.UncertainCause,
        handed: (ConnectionID) -> UInt64,
        now: Moment
    ) {
        self.client.abandon(undelivered: undelivered, uncertain: uncertain, handed: handed, now: now)
    }
}
