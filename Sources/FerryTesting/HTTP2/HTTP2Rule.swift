public import FerryCore

/// One thing that a ``SimulatedAPNs`` does differently from an APNs with which nothing ever goes wrong.
///
/// A rule says *when* by ``tokens``, ``prefix`` and ``at``, of which all that are given must hold, or by ``after`` or
/// ``every`` alone; and *what* by ``action`` and the keys that belong to it. The first rule that holds is the one that
/// counts. Only a request that is valid by itself meets a rule, ``Action/earlyAnswer`` excepted.
///
/// As JSON, with the keys named here:
///
/// ```json
/// {"tokens": ["00ff…"], "status": 410, "timestamp": 1700000000000}
/// {"every": 10, "status": 503, "times": 3}
/// {"after": 1000, "action": "goAway", "lastStream": "none", "reason": "Shutdown"}
/// {"prefix": "bad0", "action": "refuseStream"}
/// {"after": 500, "action": "settings", "maxConcurrentStreams": 1}
/// ```
public struct HTTP2Rule: Hashable, Sendable {
    /// `tokens`, hexadecimal strings: holds for requests to these devices.
    public var tokens: Set<DeviceToken>?
    /// `prefix`, a hexadecimal string: holds for requests to devices whose token begins so.
    public var prefix: [UInt8]?
    /// `at`, from 1: holds for the request at this place on its connection.
    public var at: Int?
    /// `after`, from 0: holds once on a connection, as soon as so many of its requests were accepted. What concerns one
    /// request is done to the next.
    public var after: Int?
    /// `every`, from 1: as ``after``, each time that so many more were accepted.
    public var every: Int?
    /// `times`, over all connections: how often the rule may be applied. Without it, every time.
    public var times: Int?

    /// `action`: what happens; without it, ``Action/respond``.
    public var action: Action
    /// `status` of the answer, 200 to 599; without it, the one that Apple has for the ``reason``, or 400. With 200 the
    /// request is accepted.
    public var status: Int?
    /// `reason` of the answer, or in the debug data of a GOAWAY. Without it an answer has what usually comes with its
    /// ``status``, BadDeviceToken with 400, and a GOAWAY has none.
    public var reason: Reason?
    /// `timestamp` of the answer, milliseconds since the UNIX epoch; without it, with 410 the time of the answer.
    public var timestamp: Int64?
    /// `retryAfterSeconds`: the field `retry-after` of the answer; without it, none.
    public var retryAfter: Int?
    /// `lastStream` of a GOAWAY; without it, ``LastStream/all``.
    public var lastStream: LastStream
    /// `errorCode` of a GOAWAY or RST_STREAM; without it, NO_ERROR for GOAWAY, INTERNAL_ERROR for a reset.
    public var errorCode: UInt32?
    /// `closes`: whether the connection is closed when the streams that a GOAWAY lets stand are answered; true without
    /// it. If not, that is left to the client.
    public var closes: Bool
    /// `maxConcurrentStreams` for ``Action/settings``.
    public var maxConcurrentStreams: Int?
    /// `windowBytes`, for ``Action/slowWindow``: what the window is opened by whenever it is used up; 15 without it. With
    /// 0 it stays shut.
    public var windowBytes: Int
    /// `holdSeconds`: how long ``Action/slowWindow`` lasts; 1 without it.
    public var hold: Duration
    /// `delaySeconds`: how long what happens takes to come; without it, nothing for the connection and
    /// ``HTTP2Script/answerDelay`` for a request. It comes on top of that.
    public var delay: Duration?

    /// What a rule does.
    public enum Action: String, CaseIterable, Codable, Hashable, Sendable {
        /// `respond`: the request is answered with ``HTTP2Rule/status`` and ``HTTP2Rule/reason``.
        case respond
        /// `earlyAnswer`: the same as soon as the fields of a request have come, before its body. Nothing is checked.
        case earlyAnswer
        /// `refuseStream`: RST_STREAM with REFUSED_STREAM: the request was not processed.
        case refuseStream
        /// `resetAfterHeaders`: the fields of an answer, 200 without ``HTTP2Rule/status``, and RST_STREAM in place of its
        /// end. With 200 the request counts as accepted.
        case resetAfterHeaders
        /// `silence`: the request is not accepted and never answered. Its stream stays open.
        case silence
        /// `goAway`: GOAWAY, see ``HTTP2Rule/lastStream``.
        case goAway
        /// `settings`: SETTINGS with another limit of streams.
        case settings
        /// `slowWindow`: the connection's window is not opened again before it is used up, and then little by little.
        case slowWindow
        /// `close`: an orderly end of TLS without a GOAWAY.
        case close
        /// `reset`: TCP's RST, which may destroy what is on its way in either direction. What arrived together with the
        /// cause is not answered any more.
        case reset
        /// `stopReading`: the connection stays open, and nothing more is read from it or answered.
        case stopReading
    }

    /// Which requests a GOAWAY says may have been processed. The others are never answered, and not accepted.
    public enum LastStream: String, CaseIterable, Codable, Hashable, Sendable {
        /// `none`: none of those that are not answered. It names stream 0.
        case none
        /// `current`: those up to the one that the rule is applied to, or with ``HTTP2Rule/after`` and
        /// ``HTTP2Rule/every`` the last accepted one.
        case current
        /// `all`: all that have come.
        case all
    }

    /// A rule needs either `after`, or `every`, or some of `tokens`, `prefix` and `at`.
    public init(
        tokens: Set<DeviceToken>? = nil,
        prefix: [UInt8]? = nil,
        at: Int? = nil,
        after: Int? = nil,
        every: Int? = nil,
        times: Int? = nil,
        action: Action = .respond,
        status: Int? = nil,
        reason: Reason? = nil,
        timestamp: Int64? = nil,
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
        self.at = at
        self.after = after
        self.every = every
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
    public static func reject(_ tokens: Set<DeviceToken>, reason: Reason = .badDeviceToken) -> HTTP2Rule {
        HTTP2Rule(tokens: tokens, reason: reason)
    }

    /// Says GOAWAY each time that `count` requests were accepted on a connection.
    public static func goAway(every count: Int, lastStream: LastStream = .all, times: Int? = nil) -> HTTP2Rule {
        HTTP2Rule(every: count, times: times, action: .goAway, lastStream: lastStream)
    }

    /// Does this to a connection when `count` of its requests were accepted.
    public static func end(by action: Action, after count: Int, times: Int? = nil) -> HTTP2Rule {
        HTTP2Rule(after: count, times: times, action: action)
    }
}
