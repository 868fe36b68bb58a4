public import FerryCore
public import FerryPlatform

/// A fault of a ``SimulatedAPNs``, and when it happens.
///
/// The conditions of a rule are ``tokens``, ``prefix``, ``channels`` and ``at``, of which all that are set must hold, or
/// ``after``, ``every`` or ``refused`` alone. Its effect is ``action``, with the keys that belong to the action. The first rule whose conditions
/// hold is applied. Rules apply only to valid requests, except for ``Action/earlyAnswer``.
///
/// In JSON, with the keys that the comments of the properties begin with:
///
/// ```json
/// {"tokens": ["00ff…"], "status": 410, "timestamp": 1700000000000}
/// {"every": 10, "status": 503, "times": 3}
/// {"after": 1000, "action": "goAway", "lastStream": "none", "reason": "Shutdown"}
/// {"refused": 50, "action": "goAway", "lastStream": "current"}
/// {"prefix": "bad0", "action": "refuseStream"}
/// {"channels": ["create"], "action": "loseAnswer"}
/// {"after": 500, "action": "settings", "maxConcurrentStreams": 1}
/// ```
public struct HTTP2Rule: Hashable, Sendable {
    /// `tokens`, hexadecimal strings: holds for requests to these devices.
    public var tokens: Set<DeviceToken>?
    /// `prefix`, a hexadecimal string: holds for requests to devices whose token begins with these bytes.
    public var prefix: [UInt8]?
    /// `channels`, some of `create`, `read`, `delete`, `list` and `broadcast`: holds for these requests about channels. Rules with
    /// ``tokens`` or ``prefix`` never hold for them.
    public var channels: Set<ChannelAction>?
    /// `at`, from 1: holds for the request at this position on its connection.
    public var at: Int?
    /// `after`, from 0: holds once on a connection, as soon as it has accepted this many requests. An action on a
    /// single request is applied to the next one.
    public var after: Int?
    /// `every`, from 1: like ``after``, but each time that this many more requests were accepted.
    public var every: Int?
    /// `refused`, from 1: holds each time that this many requests in a row were refused on a connection, status 410 apart:
    /// APNs closes connections for it. For actions on the connection only.
    public var refused: Int?
    /// `times`, over all connections: how often the rule is applied. Without it, there is no limit.
    public var times: Int?

    /// `action`: the effect. The default is ``Action/respond``.
    public var action: Action
    /// `status`: the status of the answer, 200 to 599. The default is Apple's status for the ``reason``, or 400. With
    /// 200, the request is accepted.
    public var status: Int?
    /// `reason`: the reason of the answer, or in the debug data of a GOAWAY. Without it, an answer has the usual reason
    /// of its ``status``, such as BadDeviceToken with 400, and a GOAWAY has no debug data.
    public var reason: Reason?
    /// `timestamp`: the timestamp of the answer, in milliseconds since the UNIX epoch. The default with 410 is the time
    /// of the answer.
    public var timestamp: Date?
    /// `retryAfterSeconds`: the field `retry-after` of the answer. Without it, the answer has no such field.
    public var retryAfter: Int?
    /// `lastStream`: the last stream of a GOAWAY. The default is ``LastStream/all``.
    public var lastStream: LastStream
    /// `errorCode`: the error code of a GOAWAY or RST_STREAM. The default is NO_ERROR for GOAWAY, REFUSED_STREAM for
    /// ``Action/refuseStream``, and INTERNAL_ERROR for ``Action/resetAfterHeaders`` and ``Action/loseAnswer``.
    public var errorCode: UInt32?
    /// `closes`: if true, the server closes the connection when all streams up to the GOAWAY's last one are answered.
    /// If false, the client must close it. The default is true.
    public var closes: Bool
    /// `maxConcurrentStreams` for ``Action/settings``.
    public var maxConcurrentStreams: Int?
    /// `windowBytes`, for ``Action/slowWindow``: whenever the window is used up, it is opened by this many bytes. The
    /// default is 15. With 0, it stays shut.
    public var windowBytes: Int
    /// `holdSeconds`: how long ``Action/slowWindow`` lasts. The default is 1.
    public var hold: Duration
    /// `delaySeconds`: the delay before the effect. The default is 0. For a request, the delay is added to
    /// ``HTTP2Script/answerDelay``.
    public var delay: Duration?

    /// The effects of rules.
    public enum Action: String, CaseIterable, Codable, Hashable, Sendable {
        /// `respond`: the server answers the request with ``HTTP2Rule/status`` and ``HTTP2Rule/reason``.
        case respond
        /// `earlyAnswer`: like ``respond``, but as soon as the fields of a request have arrived, before its body. The
        /// request is not checked.
        case earlyAnswer
        /// `refuseStream`: the server sends RST_STREAM with REFUSED_STREAM, which means that the request was not
        /// processed.
        case refuseStream
        /// `resetAfterHeaders`: the server sends the fields of an answer, then RST_STREAM instead of the answer's end.
        /// The status is 200 without ``HTTP2Rule/status`` and ``HTTP2Rule/reason``. With 200, the request counts as
        /// accepted.
        case resetAfterHeaders
        /// `loseAnswer`: the request is accepted, and then its stream is reset instead of an answer.
        case loseAnswer
        /// `silence`: the request is not accepted and never answered. Its stream stays open.
        case silence
        /// `goAway`: the server sends GOAWAY, see ``HTTP2Rule/lastStream``.
        case goAway
        /// `settings`: the server sends SETTINGS with another limit of streams.
        case settings
        /// `slowWindow`: the connection's window is opened only when it is used up, and only by
        /// ``HTTP2Rule/windowBytes``.
        case slowWindow
        /// `close`: the server ends TLS with close_notify, without a GOAWAY.
        case close
        /// `reset`: the server sends TCP's RST. Bytes in transit may be lost, in both directions. Requests that arrived
        /// together with the one that caused the reset are not answered.
        case reset
        /// `stopReading`: the connection stays open, but the server stops reading and answering.
        case stopReading
    }

    /// The requests about channels.
    public enum ChannelAction: String, CaseIterable, Codable, Hashable, Sendable {
        /// `create`: a channel is made.
        case create
        /// `read`: a channel is read.
        case read
        /// `delete`: a channel is deleted.
        case delete
        /// `list`: all channels of an app are listed.
        case list
        /// `broadcast`: a notification is sent to a channel.
        case broadcast
    }

    /// The last stream of a GOAWAY. Requests up to it may have been processed. Later requests are not accepted and
    /// never answered.
    public enum LastStream: String, CaseIterable, Codable, Hashable, Sendable {
        /// `none`: the GOAWAY names stream 0. No request was processed, except for those that are already answered.
        case none
        /// `current`: the GOAWAY names the request that the rule is applied to. With ``HTTP2Rule/after`` and
        /// ``HTTP2Rule/every``, it names the last accepted one, with ``HTTP2Rule/refused`` the last refused one.
        case current
        /// `all`: the GOAWAY names the last request that has arrived.
        case all
    }

    /// Creates a rule. It needs either `after`, `every` or `refused`, or at least one of `tokens`, `prefix`, `channels` and `at`.
    public init(
        tokens: Set<DeviceToken>? = nil,
        prefix: [UInt8]? = nil,
        channels: Set<ChannelAction>? = nil,
        at: Int? = nil,
        after: Int? = nil,
        every: Int? = nil,
        refused: Int? = nil,
        times: Int? = nil,
        action: Action = .respond,
        status: Int? = nil,
        reason: Reason? = nil,
        timestamp: Date? = nil,
        retryAfter: Int? = nil,
        lastStream: LastStream = .all,
        errorCode: UInt32? = nil,
        closes: Bool = true,
        maxConcurrentStreams: Int? = nil,
        windowBytes: Int = 15,
        hold: Duration = .seconds(1),
        delay: Duration? = nil
    ) {
        self.tokens = tokens
        self.prefix = prefix
        self.channels = channels
        self.at = at
        self.after = after
        self.every = every
        self.refused = refused
        self.times = times
        self.action = action
        self.status = status
        self.reason = reason
        self.timestamp = timestamp
        self.retryAfter = retryAfter
        self.lastStream = lastStream
        self.errorCode = errorCode
        self.closes = closes
        self.maxConcurrentStreams = maxConcurrentStreams
        self.windowBytes = windowBytes
        self.hold = hold
        self.delay = delay
    }

    /// Refuses requests to these devices.
    public static func reject(
        _ tokens: some Sequence<DeviceToken>,
        reason: Reason = .badDeviceToken
    ) -> HTTP2Rule {
        HTTP2Rule(tokens: Set(tokens), reason: reason)
    }

    /// Sends GOAWAY after every `count` accepted requests of a connection.
    public static func goAway(every count: Int, lastStream: LastStream = .all, times: Int? = nil) -> HTTP2Rule {
        HTTP2Rule(every: count, times: times, action: .goAway, lastStream: lastStream)
    }

    /// Applies an action to a connection after `count` accepted requests.
    public static func end(by action: Action, after count: Int, times: Int? = nil) -> HTTP2Rule {
        HTTP2Rule(after: count, times: times, action: action)
    }
}
