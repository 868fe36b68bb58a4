public import FerryCore
public import FerryPlatform

/// A fault of a ``SimulatedGateway``, and when it happens.
///
/// The conditions of a rule are ``tokens``, ``prefix`` and ``at``, of which all that are set must hold, or ``after``
/// alone. Its effect is ``action``, with the keys that belong to the action. The first rule whose conditions hold is
/// applied.
///
/// In JSON, with the keys that the comments of the properties begin with:
///
/// ```json
/// {"tokens": ["00ff…"], "status": 8, "delaySeconds": 0.2}
/// {"after": 1000, "times": 1, "status": 10}
/// {"prefix": "bad0", "identifier": 0, "length": 3}
/// {"after": 500, "action": "reset"}
/// ```
public struct GatewayRule: Hashable, Sendable {
    /// `tokens`, hexadecimal strings: holds for notifications to these devices.
    public var tokens: Set<DeviceToken>?
    /// `prefix`, a hexadecimal string: holds for notifications to devices whose token begins with these bytes.
    public var prefix: [UInt8]?
    /// `at`, from 1: holds for the notification at this position on its connection.
    public var at: Int?
    /// `after`, from 0: holds once on a connection, as soon as it has accepted this many notifications.
    public var after: Int?
    /// `times`, over all connections: how often the rule is applied. Without it, there is no limit.
    public var times: Int?

    /// `action`: the effect. The default is ``Action/respond``.
    public var action: Action
    /// `status`: the status of the response. The default is 8. With 0 or 10, the notification that the response names
    /// counts as accepted. With 0, the connection also goes on. With ``after`` and any other status, the gateway
    /// revokes an acceptance: the response refuses a notification that *was* accepted.
    public var status: UInt8
    /// `identifier`: the identifier in the response. The default is the notification's own identifier, or with
    /// ``after`` that of the last accepted notification.
    public var identifier: UInt32?
    /// `length`: the response is cut after this many bytes, and the connection ends. Without it, the response is
    /// complete.
    public var length: Int?
    /// `bytes`, a hexadecimal string: these bytes are written instead of a response.
    public var bytes: [UInt8]?
    /// `delaySeconds`: the delay before the response or the end. The default is the script's `errorDelaySeconds`. If
    /// the connection ends, bytes that arrive during the delay are discarded.
    public var delay: Duration?
    /// `since`, UNIX seconds: with ``Action/gone``, the time at which the app was gone. The default is the time of the
    /// notification.
    public var since: Date?

    /// The effects of rules.
    public enum Action: String, CaseIterable, Codable, Hashable, Sendable {
        /// `respond`: the gateway sends an error response, then ends the connection with close_notify.
        case respond
        /// `close`: the gateway ends the connection with close_notify, without an error response.
        case close
        /// `reset`: the gateway sends TCP's RST. Bytes in transit may be lost, in both directions.
        case reset
        /// `stopReading`: the connection stays open, and the gateway stops reading it.
        case stopReading
        /// `gone`: the notification is accepted, as by Apple. Its device is put on the list of
        /// ``SimulatedGateway/Configuration/feedback``, unless it is already there. Not with ``GatewayRule/after``.
        case gone
    }

    /// Creates a rule. It needs either `after`, or at least one of `tokens`, `prefix` and `at`.
    public init(
        tokens: Set<DeviceToken>? = nil,
        prefix: [UInt8]? = nil,
        at: Int? = nil,
        after: Int? = nil,
        times: Int? = nil,
        action: Action = .respond,
        status: UInt8 = 8,
        identifier: UInt32? = nil,
        length: Int? = nil,
        bytes: [UInt8]? = nil,
        delay: Duration? = nil,
        since: Date? = nil
    ) {
        self.tokens = tokens
        self.prefix = prefix
        self.at = at
        self.after = after
        self.times = times
        self.action = action
        self.status = status
        self.identifier = identifier
        self.length = length
        self.bytes = bytes
        self.delay = delay
        self.since = since
    }

    /// Refuses notifications to these devices.
    public static func reject(_ tokens: some Sequence<DeviceToken>, status: UInt8 = 8) -> GatewayRule {
        GatewayRule(tokens: Set(tokens), status: status)
    }

    /// Sends status 10 after `count` accepted notifications of a connection. The response names the last of them.
    public static func shutDown(after count: Int, times: Int? = nil) -> GatewayRule {
        GatewayRule(after: count, times: times, status: 10)
    }

    /// Closes, resets or stops reading a connection after `count` accepted notifications.
    public static func end(by action: Action, after count: Int, times: Int? = nil) -> GatewayRule {
        GatewayRule(after: count, times: times, action: action)
    }

    /// Accepts notifications to these devices and puts the devices on the feedback list.
    public static func gone(_ tokens: Set<DeviceToken>, since: Date? = nil) -> GatewayRule {
        GatewayRule(tokens: tokens, action: .gone, since: since)
    }
}
