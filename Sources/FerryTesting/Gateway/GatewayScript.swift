internal import FerryCore

/// The behaviour of a ``SimulatedGateway``: limits, delays, and the rules for its faults.
///
/// The empty script is a gateway that is as strict as Apple's documentation. In JSON, every key is optional, and an
/// unknown key is an error that names it:
///
/// ```json
/// {
///   "payloadLimit": 2048,
///   "errorDelaySeconds": 0.2,
///   "rules": [{"prefix": "bad0", "status": 8}, {"after": 10000, "times": 1, "action": "reset"}]
/// }
/// ```
public struct GatewayScript: Hashable, Sendable {
    /// `handshake`: how connections begin. The default is ``Handshake/normal``.
    public var handshake = Handshake.normal
    /// `payloadLimit`: the longest payload in bytes. A longer one gets status 7. The default is 2048, Apple's limit
    /// since iOS 8; before, it was 256.
    public var payloadLimit = PayloadLimit.binary
    /// `errorDelaySeconds`: the delay before an error response. The default is 0. Bytes that arrive during the delay
    /// are discarded.
    public var errorDelay = Duration.zero
    /// `keepsOpen`: if true, a connection stays open after an error response, and the gateway reads and discards all
    /// bytes. The default is false.
    public var keepsOpen = false
    /// `lingerSeconds`: after the gateway has ended its output, it reads and discards bytes for this time, then closes
    /// the connection. The default is 2.
    public var linger = Duration.seconds(2)
    /// `bytesPerSecond`: how fast a connection is read, TLS included. Without it, bytes are read as fast as they
    /// arrive. Once the client has ended its output, the bytes that the system still holds are read at once.
    public var bytesPerSecond: Int?
    /// `rules`: the faults. The rules are tried in this order.
    public var rules: [GatewayRule] = []
    /// `feedback`: the script of the feedback service, for programs that start it beside the gateway.
    public var feedback = FeedbackScript()
    /// `http2`: the script of the simulated APNs of HTTP/2, for programs that start it beside the gateway.
    public var http2 = HTTP2Script()

    /// The beginnings of a connection.
    public enum Handshake: String, CaseIterable, Codable, Hashable, Sendable {
        /// `normal`: with a TLS handshake.
        case normal
        /// `silent`: the connection is accepted and never read. The client gets no answer to its handshake.
        case silent
        /// `refuseClient`: every client certificate is refused.
        case refuseClient
    }

    /// Creates the script of a gateway without faults.
    public init() {}

    /// Creates a script with these rules.
    public init(rules: [GatewayRule]) {
        self.rules = rules
    }
}
