internal import NIOCore

/// Whether notifications for one topic, with one credential, may go out and be refused.
///
/// A wrong environment, topic or key looks like many bad tokens, and status 8 makes clients delete them. So no status 8
/// is told before the first acceptance. Too many refusals without one, or a refusal of the topic or the credentials
/// themselves, close the gate: notifications wait, and one a second tries the way.
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
        /// Nothing was accepted. The number of refused tokens so far.
        case cold(refusals: Int)
        case warm
        /// Notifications wait. The next one may try at that time.
        case shut(tryAt: NIODeadline)
    }

    /// A list may begin with this many dead tokens without an alarm.
    static let patience = 20
    /// The time between two notifications that try a shut gate.
    static let pause: TimeAmount = .seconds(1)

    /// The seconds between two notes for the store that a gate is warm.
    private static let noteInterval: UInt32 = 86_400

    private var state = State.cold(refusals: 0)
    /// UNIX seconds: the last acceptance of which the store was told.
    private var notedAt: UInt32 = 0

    /// Whether status 8 may be told.
    var isWarm: Bool { if case .warm = self.state { true } else { false } }

    var isShut: Bool { if case .shut = self.state { true } else { false } }

    /// When the next notification may try; nil while the gate is not shut.
    var tryAt: NIODeadline? { if case .shut(let tryAt) = self.state { tryAt } else { nil } }

    /// Whether a notification may go out now.
    mutating func admits(now: NIODeadline) -> Bool {
        guard case .shut(let tryAt) = self.state else { return true }
        guard tryAt <= now else { return false }
        self.state = .shut(tryAt: now + Self.pause)
        return true
    }

    /// Notes that APNs knows the token: it accepted the notification, or said since when the app is gone.
    mutating func accepted(now: UInt32) {
        self.state = .warm
        self.notedAt = now
    }

    /// Whether the last acceptance of which the store was told is a day old.
    func isOld(now: UInt32) -> Bool { now > self.notedAt && now - self.notedAt >= Self.noteInterval }

    /// Notes a refused token. Returns whether this closes the gate.
    mutating func refusedToken(now: NIODeadline) -> Bool {
        guard case .cold(let refusals) = self.state else { return false }
        guard refusals + 1 >= Self.patience else {
            self.state = .cold(refusals: refusals + 1)
            return false
        }
        self.state = .shut(tryAt: now + Self.pause)
        return true
    }

    /// Notes that the topic or the credentials were refused. Returns whether this closes the gate.
    mutating func blocked(now: NIODeadline) -> Bool {
        guard !self.isShut else { return false }
        self.state = .shut(tryAt: now + Self.pause)
        return true
    }
}
