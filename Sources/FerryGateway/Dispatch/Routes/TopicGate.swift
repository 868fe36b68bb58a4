internal import FerryCore
internal import NIOCore

/// The gate of one topic with one credential. The gate decides whether notifications are sent, and whether refused
/// tokens are reported to clients.
///
/// With a wrong environment, topic or key, APNs refuses all tokens, and status 8 makes clients delete them. So status
/// 8 is reported only while the gate is warm, which needs an acceptance. The gate shuts after too many refused tokens
/// without an acceptance, or after a refusal of the topic or the credentials. Notifications then wait, and one
/// notification in each second tries the gate.
///
/// ```
///            accepted
///   cold ───────────────────▶ warm
///    │                        │  ▲
///    │ 20 refusals, blocked   │  │ accepted
///    ▼                blocked ▼  │
///   shut ◀─────────────────────  │
///    └───────────────────────────┘
/// ```
struct TopicGate: Sendable {
    private enum State {
        /// No notification was accepted yet, or the gate was shut when its last client left it. The number counts
        /// refused tokens.
        case cold(refusals: Int)
        case warm
        /// Notifications wait, for this ``TopicGate/reason``. The next notification tries the gate at this time.
        case shut(Reason?, tryAt: NIODeadline)
    }

    /// The number of refused tokens that shuts a cold gate. If a list begins with fewer dead tokens, there is no alarm.
    static let patience = 20
    /// The time between two tries while the gate is shut.
    static let pause: TimeAmount = .seconds(1)

    /// The time after which a warm gate is noted in the store again, in seconds.
    private static let noteInterval: UInt32 = 86_400

    private var state = State.cold(refusals: 0)
    /// The last acceptance that was noted for the store, in UNIX seconds.
    private var notedAt: UInt32 = 0

    /// Whether status 8 may be reported.
    var isWarm: Bool { if case .warm = self.state { true } else { false } }

    var isShut: Bool { if case .shut = self.state { true } else { false } }

    /// When the next notification may be tried; nil if the gate is not shut.
    var tryAt: NIODeadline? { if case .shut(_, let tryAt) = self.state { tryAt } else { nil } }

    /// The last refusal of the topic or the credentials, or `badDeviceToken` for too many refused tokens; nil if no
    /// connection works with the credentials, or if the gate is not shut.
    var reason: Reason? { if case .shut(let reason, _) = self.state { reason } else { nil } }

    /// Whether a notification may be sent now. A shut gate admits one notification in each ``pause``, to try the gate.
    mutating func admits(now: NIODeadline) -> Bool {
        guard case .shut(let reason, let tryAt) = self.state else { return true }
        guard tryAt <= now else { return false }
        self.state = .shut(reason, tryAt: now + Self.pause)
        return true
    }

    /// Notes that APNs knows the token: it accepted the notification, or said that the device has lost the app.
    mutating func accepted(now: UInt32) {
        self.state = .warm
        self.notedAt = now
    }

    /// Whether the last acceptance that was noted for the store is a day old.
    func isOld(now: UInt32) -> Bool { now > self.notedAt && now - self.notedAt >= Self.noteInterval }

    /// Notes a refused token. Returns whether the gate shuts.
    mutating func refusedToken(now: NIODeadline) -> Bool {
        guard case .cold(let refusals) = self.state else { return false }
        guard refusals + 1 >= Self.patience else {
            self.state = .cold(refusals: refusals + 1)
            return false
        }
        self.state = .shut(.badDeviceToken, tryAt: now + Self.pause)
        return true
    }

    /// Makes a shut gate cold. Call this function if no client uses the gate, because then no notification could open
    /// it.
    mutating func leave() { if self.isShut { self.state = .cold(refusals: 0) } }

    /// Notes that the topic or the credentials were refused. Returns whether the gate shuts.
    ///
    /// - Parameter reason: APNs' reason; nil if no connection works with the credentials.
    mutating func blocked(_ reason: Reason?, now: NIODeadline) -> Bool {
        if case .shut(_, let tryAt) = self.state {
            self.state = .shut(reason, tryAt: tryAt)
            return false
        }
        self.state = .shut(reason, tryAt: now + Self.pause)
        return true
    }
}
