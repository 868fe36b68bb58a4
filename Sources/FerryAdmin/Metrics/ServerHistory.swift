internal import FerryCore
internal import FerryPlatform
internal import NIOCore

/// The start of a server, and its rates of the last hour. All snapshots share this object. Any thread may use it.
package final class ServerHistory: Sendable {
    /// The start of the server, in UNIX seconds.
    package let startedAt = Int(Date.now.timeIntervalSince1970)
    private let rates = Locked(RateHistory(now: ServerHistory.uptime))

    package init() {}

    /// Notes the counts since the start, and returns the steps that are over and the rate.
    package func note(_ totals: RateHistory.Step) -> (steps: [RateHistory.Step], rate: Rate) {
        let now = Self.uptime
        return self.rates.withLock { rates in
            rates.note(totals, now: now)
            return (rates.steps, rates.rate(now: now))
        }
    }

    /// The time of a monotonic clock, in seconds.
    private static var uptime: Double { Double(NIODeadline.now().uptimeNanoseconds) / 1e9 }
}
