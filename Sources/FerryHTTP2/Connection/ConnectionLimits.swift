internal import NIOCore

/// The limits that the options set for each connection.
struct ConnectionLimits {
    /// How long the peer's SETTINGS may take.
    let connectTimeout: TimeAmount
    /// How long the answer to one attempt may take.
    let attemptTimeout: TimeAmount
    /// How long a connection may be quiet before a PING.
    let pingInterval: TimeAmount
    /// How many requests may be under way.
    let maxStreams: Int
    /// Whether APNs allows one request until it has accepted a provider token.
    let startsWithOne: Bool

    init(_ options: HTTP2Options, usesTokens: Bool) {
        self.connectTimeout = TimeAmount(options.connectTimeout)
        self.attemptTimeout = max(TimeAmount(options.attemptTimeout), .milliseconds(1))
        self.pingInterval = max(TimeAmount(options.pingInterval), .seconds(1))
        self.maxStreams = min(max(options.maxStreams, 1), 100_000)
        self.startsWithOne = usesTokens
    }
}
