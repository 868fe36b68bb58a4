internal import FerryCore
internal import NIOCore

/// The addresses that are named in messages, without I/O: one that tries all the time must not fill the log.
///
/// Memory: ``limit`` refusals, and as many checks of a day. Further ones are not named: with so many at once, the first lines
/// say enough.
struct StrangerNames {
    /// One that is refused is named again after this time.
    private static let pause: TimeAmount = .minutes(1)
    /// A stranger's client may say that it is ferry doctor. Its refusals must not stay unnamed for ever.
    private static let doctorPause: TimeAmount = .hours(1)
    /// An address without a check for this time is forgotten.
    private static let checkMemory: TimeAmount = .hours(24)
    private static let limit = 1000
    /// The longest reason of a refusal, in bytes: a stranger's handshake may have brought it.
    private static let reasonLimit = 1000

    /// When each address was last refused for each reason.
    private var refusals: [String: NIODeadline] = [:]
    /// The checks of each address, one entry for each kind.
    private var checks: [String: Checks] = [:]

    private struct Checks {
        /// When the address was last named.
        var named: NIODeadline
        var last: NIODeadline

        func isOver(_ now: NIODeadline) -> Bool { self.last + StrangerNames.checkMemory <= now }
    }

    /// Returns the reason to name for a refused address; nil: it was named a moment ago.
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

    /// Returns whether to name an address whose connection wanted nothing. A monitor makes one every few seconds, so it is
    /// named once, and again after a day without one; a client that calls itself ferry doctor, once an hour.
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
