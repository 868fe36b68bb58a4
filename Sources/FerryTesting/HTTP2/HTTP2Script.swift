/// How a ``SimulatedAPNs`` behaves: limits, delays, and the rules by which things go wrong.
///
/// The empty script is an APNs that is as strict as Apple's documentation. It is the key `http2` of a ``GatewayScript``;
/// as JSON, every key may be left out, and one that does not exist is an error that names it:
///
/// ```json
/// {
///   "maxConcurrentStreams": 100,
///   "answerDelaySeconds": 0.05,
///   "rules": [{"prefix": "bad0", "reason": "Unregistered"}, {"every": 5000, "action": "goAway"}]
/// }
/// ```
public struct HTTP2Script: Hashable, Sendable {
    /// `handshake`: how connections begin; without it, ``GatewayScript/Handshake/normal``.
    public var handshake = GatewayScript.Handshake.normal
    /// `maxConcurrentStreams`, 0 to 2,147,483,647: how many requests a connection may have at once; 1000 without it.
    public var maxConcurrentStreams = 1000
    /// `coldStart`: whether a connection without a client certificate may have one request at a time until one with a
    /// valid provider token was accepted, as at Apple's; true without it.
    public var coldStart = true
    /// `requiresToken`: whether requests on a connection without a client certificate need a valid provider token; true
    /// without it. If not, tokens are not looked at, and there is no cold start.
    public var requiresToken = true
    /// `topics`: what may be pushed to, with any suffix of a push type; without it, anything.
    public var topics: [String]?
    /// `tokenUpdateSeconds`: how long after a provider token was first used on a connection the next one is taken there;
    /// 1200 without it.
    public var tokenUpdateInterval = Duration.seconds(1200)
    /// `answerDelaySeconds`: how long an answer takes to come; 0 without it. A request is looked at, and accepted, when
    /// its answer is due.
    public var answerDelay = Duration.zero
    /// `payloadLimit` in bytes, of every push type; without it, 4096, and 5120 for voip.
    public var payloadLimit: Int?
    /// `uniqueId`: whether answers carry `apns-unique-id`, as in the development environment; false without it.
    public var hasUniqueID = false
    /// `rules`: what goes wrong, tried in this order.
    public var rules: [HTTP2Rule] = []

    /// An APNs with which nothing goes wrong.
    public init() {}

    /// An APNs with which this goes wrong.
    public init(rules: [HTTP2Rule]) {
        self.rules = rules
    }
}
