internal import FerryCore
internal import NIOCore

/// Decides which addresses are reported, without I/O. If every address were reported, an address that tries again and
/// again would fill the log.
///
/// Memory: ``limit`` refusals of the last minute, and ``limit`` checks of the last day. Addresses above these numbers
/// are not reported.
struct StrangerNames {
    /// The time after which a refused address is named again.
    private static let pause: TimeAmount = .minutes(1)
    /// The time after which a client that calls itself ferry doctor is named again. A stranger can call itself ferry
    /// doctor, too, and must still be named from time to time.
    private static let doctorPause: TimeAmount = .hours(1)
    /// The time after which an address without a further check is forgotten.
    private static let checkMemory: TimeAmount = .hours(24)
    private static let limit = 1000
    /// The longest reason of a refusal, in bytes. Parts of it come from the stranger's handshake, and may be long.
    private static let reasonLimit = 1000

    /// When each address was last named for each reason.
    private var refusals: [String: NIODeadline] = [:]
    /// The checks of each address, one entry for each kind.
    private var checks: [String: Checks] = [:]

    private struct Checks {
        /// When a message last named the address.
        var named: NIODeadline
        var last: NIODeadline

        func isOver(_ now: NIODeadline) -> Bool { self.last + StrangerNames.checkMemory <= now }
    }

    /// Returns the reason to report for a refused address, cut to ``reasonLimit``. Returns nil if the address was
    /// reported with this reason in the last minute, or if ``limit`` refusals were reported in that minute.
    mutating func name(_ address: String, refusedFor reason: String, now: NIODeadline) -> String? {
        let reason = String(reason.beginning(utf8: Self.reasonLimit))
        let refusal = "\(address) \(reason)"
        if let last = self.refusals[refusal], now < last + Self.pause { return nil }
        if self.refusals.count >= Self.limit {
            self.refusals = self.refusals.filter { now < $0.value + Self.pause }
            guard self.refusals.count < Self.limit else { return nil }
        }
        self.refusals[refusal] = now
        return reason
    }

    /// Returns whether to report an address whose connection sent no notification. A monitor makes such a connection
    /// every few seconds. So an address is reported once, and again after a day without such a connection. A client
    /// that calls itself ferry doctor is reported once an hour.
    mutating func names(_ address: String, for check: GatewayEvent.Check, now: NIODeadline) -> Bool {
        let key = "\(address) \(check)"
        if let known = self.checks[key], !known.isOver(now) {
            let isNamed = check == .doctor && known.named + Self.doctorPause <= now
            self.checks[key] = Checks(named: isNamed ? now : known.named, last: now)
            return isNamed
        }
        if self.checks.count >= Self.limit {
            self.checks = self.checks.filter { !$0.value.isOver(now) }
            guard self.checks.count < Self.limit else { return false }
        }
        self.checks[key] = Checks(named: now, last: now)
        return true
    }
}
