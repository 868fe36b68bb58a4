internal import NIOCore

/// The outage of an upstream that answers every notification with a fault of the server: a status of 500 or more,
/// such as 503.
///
/// ```
///           fault        fault of another device          fault of a third device        faults for 10 s
///   none ──────────▶ doubted ──────────────▶ doubted ───────────────────────▶ suspected ────────────────▶ known
///     ▲                │                       │                                  │                          │
///     └────────────────┴───────────────────────┴──────── any other answer ────────┴──────────────────────────┘
/// ```
///
/// During an outage, a notification is sent again until APNs accepts or refuses it, or it expires. A notification
/// without an expiration is sent again for ``GatewayBounds/Jobs/lifetime``. Without this alarm, the operator would not
/// learn why nothing arrives.
///
/// The faults of one device prove nothing about the upstream. A notification may get 503 for an hour, and in a quiet
/// gateway no other answer comes meanwhile. Operators see this case in the age of the notification. Two devices may
/// belong to one person, so their faults may have one cause. The ten seconds begin with the third device, because the
/// faults of the other two may be hours old.
struct Outage: Sendable {
    private enum State {
        case none
        /// The tokens of the devices that got only faults, fewer than ``devices``.
        case doubted([ArraySlice<UInt8>])
        case suspected(since: NIODeadline)
        case known
    }

    /// The number of devices that must get only faults before an outage is suspected.
    static let devices = 3
    /// How long all answers must be faults before a suspected outage is reported.
    static let patience: TimeAmount = .seconds(10)

    private var state = State.none

    /// Whether an outage is known.
    var isOn: Bool { if case .known = self.state { true } else { false } }

    /// Notes a server's fault. Returns true once, when the outage has lasted ``patience``.
    ///
    /// - Parameter token: the device token of the notification.
    mutating func failed(_ token: ArraySlice<UInt8>, now: NIODeadline) -> Bool {
        switch self.state {
        case .none:
            self.state = .doubted([token])
            return false
        case .doubted(let tokens):
            guard !tokens.contains(token) else { return false }
            self.state = tokens.count + 1 < Self.devices ? .doubted(tokens + [token]) : .suspected(since: now)
            return false
        case .suspected(let since):
            guard since + Self.patience <= now else { return false }
            self.state = .known
            return true
        case .known:
            return false
        }
    }

    /// Notes any other answer of APNs. Returns whether it ends a known outage.
    mutating func answered() -> Bool {
        defer { self.state = .none }
        return if case .known = self.state { true } else { false }
    }
}
