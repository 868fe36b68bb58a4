internal import NIOCore

/// A pacer that spreads the notifications to one device in time, and keeps them back when APNs asked to wait.
struct DevicePacer {
    /// The number of remembered devices, by the hash of their token. Notifications to other devices are not paced.
    static let limit = 65_536

    /// When a notification may go to its device.
    enum Turn {
        case now
        case later(NIODeadline)
        /// The turn would come after the notification's deadline.
        case tooLate
    }

    private let interval: TimeAmount?
    /// When the next notification may go to a device.
    private var next: [UInt32: NIODeadline] = [:]
    /// How often the pacer looks for devices that it can forget, while it has no room for others.
    private static let sweepInterval = TimeAmount.seconds(1)
    private var nextSweep = NIODeadline.distantPast

    init(_ interval: Duration?) {
        self.interval = interval.map { TimeAmount($0) }
    }

    /// Reserves the next moment for a device, if it comes before `deadline`.
    mutating func take(_ tokenHash: UInt32, before deadline: NIODeadline, now: NIODeadline) -> Turn {
        guard self.interval != nil || !self.next.isEmpty else { return .now }
        let due = max(self.next[tokenHash] ?? now, now)
        guard due < deadline else { return .tooLate }
        if let interval { self.note(tokenHash, due + interval, now: now) }
        return due > now ? .later(due) : .now
    }

    /// Keeps notifications from a device until `due`, because APNs asked for it.
    mutating func hold(_ tokenHash: UInt32, until due: NIODeadline, now: NIODeadline) {
        self.note(tokenHash, max(self.next[tokenHash] ?? due, due + (self.interval ?? .zero)), now: now)
    }

    private mutating func note(_ tokenHash: UInt32, _ due: NIODeadline, now: NIODeadline) {
        if self.next.count >= Self.limit, self.nextSweep <= now {
            self.nextSweep = now + Self.sweepInterval
            self.next = self.next.filter { $0.value > now }
        }
        if self.next.count < Self.limit || self.next[tokenHash] != nil { self.next[tokenHash] = due }
    }
}
