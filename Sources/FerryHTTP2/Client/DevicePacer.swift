internal import NIOCore

/// Keeps notifications to one device apart in time.
struct DevicePacer {
    /// Devices that are remembered, by the hash of their token. What is beyond goes out at once.
    static let limit = 65_536

    private let interval: TimeAmount?
    /// When the next notification may go to a device.
    private var next: [UInt32: NIODeadline] = [:]

    init(_ interval: Duration?) {
        self.interval = interval.map { TimeAmount($0) }
    }

    /// Takes the next moment for a device; nil: now.
    mutating func take(_ tokenHash: UInt32, now: NIODeadline) -> NIODeadline? {
        guard let interval else { return nil }
        if self.next.count >= Self.limit { self.next = self.next.filter { $0.value > now } }
        let due = self.next[tokenHash] ?? now
        guard due > now else {
            if self.next.count < Self.limit { self.next[tokenHash] = now + interval }
            return nil
        }
        self.next[tokenHash] = due + interval
        return due
    }
}
