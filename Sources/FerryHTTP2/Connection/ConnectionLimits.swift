internal import NIOCore

/// The limits of each connection of a client.
struct ConnectionLimits {
    /// How long the peer's SETTINGS may take.
    let connectTimeout: TimeAmount
    /// How long the answer to one attempt may take.
    let attemptTimeout: TimeAmount
    /// How long a written request waits for its answer.
    let answerLimit: TimeAmount
    /// The limits for PINGs on a quiet connection.
    let ping: PingMachine.Limits
    /// The number of requests that may be under way.
    let maxStreams: Int
    /// Whether APNs allows one request until it has accepted a provider token.
    let startsWithOne: Bool
    /// The settings that each connection sends, and the longest answer.
    let session: HTTP2Session.Settings

    /// How long a connection with requests under way may be silent before a PING, if requests wait for late answers.
    /// With ``PingMachine/limit`` a peer may stand still for 16 s before its connection is dead.
    static let stall: TimeAmount = .seconds(6)

    /// Whether requests wait for late answers.
    var waitsForLateAnswers: Bool { self.answerLimit > self.attemptTimeout }

    init(_ options: HTTP2Options, usesTokens: Bool) {
        self.connectTimeout = TimeAmount(options.connectTimeout)
        self.attemptTimeout = max(TimeAmount(options.attemptTimeout), .milliseconds(1))
        self.answerLimit = max(self.attemptTimeout, options.lateAnswerLimit.map { TimeAmount($0) } ?? .zero)
        self.ping = PingMachine.Limits(
            interval: max(TimeAmount(options.pingInterval), .milliseconds(100)),
            idle: max(TimeAmount(options.idleCheck), .milliseconds(100)),
            stall: options.lateAnswerLimit == nil ? nil : Self.stall
        )
        self.maxStreams = min(max(options.maxStreams, 1), 100_000)
        self.startsWithOne = usesTokens
        self.session = HTTP2Session.Settings()
    }
}
