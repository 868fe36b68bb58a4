public import FerryCore

/// One thing that a ``SimulatedGateway`` does differently from a gateway with which nothing ever goes wrong.
///
/// A rule says *when* by ``tokens``, ``prefix`` and ``at``, of which all that are given must hold, or by ``after``
/// alone; and *what* by ``action`` and the keys that belong to it. The first rule that holds is the one that counts.
///
/// As JSON, with the keys named here:
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
    /// `prefix`, a hexadecimal string: holds for notifications to devices whose token begins so.
    public var prefix: [UInt8]?
    /// `at`, from 1: holds for the notification at this place on its connection.
    public var at: Int?
    /// `after`, from 0: holds once on a connection, as soon as so many of its notifications were accepted.
    public var after: Int?
    /// `times`, over all connections: how often the rule may be applied. Without it, every time.
    public var times: Int?

    /// `action`: what happens; without it, ``Action/respond``.
    public var action: Action
    /// `status` of the response; without it, 8. With 0 and 10 the notification that is named was itself accepted; with
    /// 0 the connection goes on. With ``after`` any other status names a notification that *was* accepted, as a gateway
    /// does that changes its mind.
    public var status: UInt8
    /// `identifier` in the response; without it, the notification's own, or with ``after`` the last accepted one's.
    public var identifier: UInt32?
    /// `length`: how many of the response's bytes are written before the connection ends; without it, all.
    public var length: Int?
    /// `bytes`, a hexadecimal string: written in place of a response.
    public var bytes: [UInt8]?
    /// `delaySeconds`: how long the response, or the end, takes to come; without it, the script's `errorDelaySeconds`.
    /// What arrives meanwhile is discarded.
    public var delay: Duration?
    /// `since`, UNIX seconds: for ``Action/gone``, when the app was found to be gone; without it, when the notification
    /// comes.
    public var since: UInt32?

    /// What a rule does to the connection.
    public enum Action: String, CaseIterable, Codable, Hashable, Sendable {
        /// `respond`: an error response, then an orderly end.
        case respond
        /// `close`: an orderly end without a word.
        case close
        /// `reset`: TCP's RST, which may destroy what is on its way in either direction.
        case reset
        /// `stopReading`: the connection stays open, and nothing more is read from it.
        case stopReading
        /// `gone`: the notification is accepted, as by Apple, and its device is put on the list of
        /// ``SimulatedGateway/Configuration/feedback``, unless it stands there. Not with ``GatewayRule/after``.
        case gone
    }

    /// A rule needs either `after`, or some of `tokens`, `prefix` and `at`.
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
        since: UInt32? = nil
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
    public static func reject(_ tokens: Set<DeviceToken>, status: UInt8 = 8) -> GatewayRule {
        GatewayRule(tokens: tokens, status: status)
    }

    /// Says status 10 when `count` notifications were accepted on a connection, naming the last of them.
    public static func shutDown(after count: Int, times: Int? = nil) -> GatewayRule {
        GatewayRule(after: count, times: times, status: 10)
    }

    /// Closes, resets or stops reading a connection when `count` of its notifications were accepted.
    public static func end(by action: Action, after count: Int, times: Int? = nil) -> GatewayRule {
        GatewayRule(after: count, times: times, action: action)
    }

    /// Accepts notifications to these devices and puts the devices on the feedback list.
    public static func gone(_ tokens: Set<DeviceToken>, since: UInt32? = nil) -> GatewayRule {
        GatewayRule(tokens: tokens, action: .gone, since: since)
    }
}
