/// The behaviour of a ``SimulatedAPNs``: limits, delays, and the rules for its faults.
///
/// The empty script is an APNs that is as strict as Apple's documentation. The script is the key `http2` of a
/// ``GatewayScript``. In JSON, every key is optional, and an unknown key is an error that names it:
///
/// ```json
/// {
///   "maxConcurrentStreams": 100,
///   "answerDelaySeconds": 0.05,
///   "rules": [{"prefix": "bad0", "reason": "Unregistered"}, {"every": 5000, "action": "goAway"}]
/// }
/// ```
public struct HTTP2Script: Hashable, Sendable {
    /// `handshake`: how connections begin. The default is ``GatewayScript/Handshake/normal``.
    public var handshake = GatewayScript.Handshake.normal
    /// `maxConcurrentStreams`, 0 to 2,147,483,647: how many requests a connection may have at the same time. The
    /// default is 1000.
    public var maxConcurrentStreams = 1000
    /// `coldStart`: if true, a connection without a client certificate may have only one request at a time, until a
    /// request with a valid provider token was accepted, as at Apple. The default is true.
    public var coldStart = true
    /// `requiresToken`: if true, requests on a connection without a client certificate need a valid provider token. If
    /// false, tokens are not checked, and there is no cold start. The default is true.
    public var requiresToken = true
    /// `topics`: the allowed topics, with any suffix of a push type. Without it, all topics are allowed.
    public var topics: [String]?
    /// `tokenUpdateSeconds`: the shortest time between the first uses of two provider tokens on a connection. The
    /// default is 1200.
    public var tokenUpdateInterval = Duration.seconds(1200)
    /// `answerDelaySeconds`: the delay before an answer. The default is 0. A request is checked and accepted when its
    /// answer is due.
    public var answerDelay = Duration.zero
    /// `payloadLimit`: the longest payload in bytes, for every push type. The default is 4096, and 5120 for `voip`.
    public var payloadLimit: Int?
    /// `uniqueId`: if true, answers have `apns-unique-id`, as in the development environment. The default is false.
    public var hasUniqueID = false
    /// `rules`: the faults. The rules are tried in this order.
    public var rules: [HTTP2Rule] = []

    /// Creates the script of an APNs without faults.
    public init() {}

    /// Creates a script with these rules.
    public init(rules: [HTTP2Rule]) {
        self.rules = rules
    }
}
