public import FerryPlatform

/// The times at which the App Store repeats a notification that no server has accepted.
///
/// Each delay counts from the attempt before. "For version 2 notifications, it retries five times, at 1, 12, 24, 48,
/// and 72 hours after the previous attempt. For version 1 notifications, it retries three times, at 6, 24, and 48
/// hours after the previous attempt. […] In the sandbox environment, the App Store server attempts to send the
/// notification one time." ("Responding to App Store Server Notifications", Apple)
public struct RetrySchedule: Hashable, Sendable {
    /// The time from each attempt to the next.
    public let delays: [Duration]

    /// Version 2 in production: attempts after 0, 1, 13, 37, 85 and 157 hours.
    public static let version2 = RetrySchedule(hours: [1, 12, 24, 48, 72])
    /// Version 1 in production: attempts after 0, 6, 30 and 78 hours.
    public static let version1 = RetrySchedule(hours: [6, 24, 48])
    /// Both versions in the sandbox: one attempt.
    public static let sandbox = RetrySchedule(hours: [])

    private init(hours: [Int]) {
        self.delays = hours.map { .seconds(3600 * $0) }
    }

    /// Returns the schedule of a version (1 or 2) in an environment. An unknown environment has the schedule of the
    /// sandbox.
    public init(version: Int, environment: AppStoreEnvironment) {
        self = environment == .production ? (version == 1 ? .version1 : .version2) : .sandbox
    }

    /// The time from the first attempt to each attempt. The first element is zero.
    public var offsets: [Duration] {
        self.delays.reduce(into: [.zero]) { offsets, delay in offsets.append((offsets.last ?? .zero) + delay) }
    }

    /// The time from the first attempt to the last.
    public var span: Duration { self.offsets.last ?? .zero }

    /// Returns the times of the attempts for a notification that was first sent at `first`.
    public func attempts(from first: Date) -> [Date] {
        self.offsets.map { first.addingTimeInterval($0.timeInterval) }
    }

    /// Returns the time of the last attempt for a notification that was first sent at `first`.
    public func lastChance(from first: Date) -> Date { first.addingTimeInterval(self.span.timeInterval) }

    /// Returns the time of the first attempt outside an outage of the server; nil if all attempts are within it.
    ///
    /// The server is down at the outage's lower bound, and up again at its upper bound.
    public func arrival(from first: Date, outage: Range<Date>) -> Date? {
        self.attempts(from: first).first { !outage.contains($0) }
    }

    /// Returns the range of first attempts whose notifications an outage loses; nil if the outage loses no
    /// notification, because Apple tries again after the outage.
    ///
    /// A notification is lost if its first and its last attempt are within the outage.
    public func lost(in outage: Range<Date>) -> Range<Date>? {
        let end = outage.upperBound.addingTimeInterval(-self.span.timeInterval)
        return outage.lowerBound < end ? outage.lowerBound..<end : nil
    }
}

extension Duration {
    /// The duration in seconds.
    var timeInterval: Double { Double(self.components.seconds) + Double(self.components.attoseconds) * 1e-18 }
}
