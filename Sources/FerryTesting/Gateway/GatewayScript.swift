/// How a ``SimulatedGateway`` behaves: limits, delays, and the rules by which things go wrong.
///
/// The empty script is a gateway that is as strict as Apple's documentation. Read from JSON, every key may be left out,
/// and one that does not exist is an error that names it:
///
/// ```json
/// {
///   "payloadLimit": 2048,
///   "errorDelaySeconds": 0.2,
///   "rules": [{"prefix": "bad0", "status": 8}, {"after": 10000, "times": 1, "action": "reset"}]
/// }
/// ```
public struct GatewayScript: Hashable, Sendable {
    /// `handshake`: how connections begin; without it, ``Handshake/normal``.
    public var handshake = Handshake.normal
    /// `payloadLimit` in bytes; 2048 without it, as since iOS 8, and 256 before. A longer payload gets status 7.
    public var payloadLimit = 2048
    /// `errorDelaySeconds`: how long an error response takes to come; 0 without it. What arrives meanwhile is discarded.
    public var errorDelay = Duration.zero
    /// `keepsOpen`: whether a connection stays open after an error response, reading and discarding all that comes;
    /// false without it.
    public var keepsOpen = false
    /// `lingerSeconds`: how long what the client still sends is read and discarded after the gateway's last word,
    /// before the connection is closed whole; 2 without it.
    public var linger = Duration.seconds(2)
    /// `bytesPerSecond`: how fast a connection is read, TLS included; without it, as fast as it comes.
    /// Once the client has ended its output, what the system still holds of it is read at once.
    public var bytesPerSecond: Int?
    /// `rules`: what goes wrong, tried in this order.
    public var rules: [GatewayRule] = []
    /// `feedback`: how the feedback service beside the gateway behaves, for whoever starts both.
    public var feedback = FeedbackScript()
    /// `http2`: how the simulated APNs of HTTP/2 beside the gateway behaves, for whoever starts both.
    public var http2 = HTTP2Script()

    /// How connections begin.
    public enum Handshake: String, CaseIterable, Codable, Hashable, Sendable {
        /// `normal`: with a TLS handshake.
        case normal
        /// `silent`: accepted and then left alone; the client waits for the handshake's answer.
        case silent
        /// `refuseClient`: every client certificate is refused.
        case refuseClient
    }

    /// A gateway with which nothing goes wrong.
    public init() {}

    /// A gateway with which this goes wrong.
    public init(rules: [GatewayRule]) {
        self.rules = rules
    }
}
