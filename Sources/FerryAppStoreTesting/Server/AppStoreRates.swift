internal import FerryPlatform

/// How often the calls of the App Store Server API may be made.
///
/// "The App Store Server API enforces rate limits per app. […] The per-second limits are counted by the hour: […] In the
/// sandbox, they are a tenth." ("Identifying rate limits", Apple)
public struct AppStoreRateLimits: Hashable, Sendable {
    /// The calls for the notification history in an hour.
    public var history: Int
    /// The calls for subscriptions and transactions in an hour.
    public var purchases: Int
    /// The calls for test notifications in an hour, and for their state.
    public var test: Int
    /// The calls of each kind in a second; nil: the hour alone counts, as at Apple.
    public var perSecond: Int?

    /// 50 calls a second for history and purchases, and one a second for test notifications.
    public static let production = Self(history: 180_000, purchases: 180_000, test: 3_600)
    /// A tenth.
    public static let sandbox = Self(history: 18_000, purchases: 18_000, test: 360)

    /// Limits of an app: calls in an hour, and in a second if the simulation counts by the second.
    public init(history: Int, purchases: Int, test: Int, perSecond: Int? = nil) {
        self.history = history
        self.purchases = purchases
        self.test = test
        self.perSecond = perSecond
    }
}

/// The counts of calls in the present hour and second.
struct AppStoreRates: Sendable {
    enum Call: Hashable, Sendable {
        case history, purchases, test
    }

    private struct Window: Sendable {
        var end = Date.distantPast
        var count = 0

        /// Returns whether the window has room at `now`. Begins a new one after its end.
        mutating func hasRoom(_ limit: Int, length: Double, at now: Date) -> Bool {
            if now >= self.end {
                self.end = now.addingTimeInterval(length)
                self.count = 0
            }
            return self.count < limit
        }
    }

    private let limits: AppStoreRateLimits
    private var hours: [Call: Window] = [:]
    private var seconds: [Call: Window] = [:]

    init(_ limits: AppStoreRateLimits) { self.limits = limits }

    /// Counts a call. Returns nil if it may be made, or when the next one may.
    mutating func refusal(of call: Call, at now: Date) -> Date? {
        let limit =
            switch call {
            case .history: self.limits.history
            case .purchases: self.limits.purchases
            case .test: self.limits.test
            }
        guard self.hours[call, default: Window()].hasRoom(limit, length: 3600, at: now) else {
            return self.hours[call]?.end
        }
        if let perSecond = self.limits.perSecond,
            !self.seconds[call, default: Window()].hasRoom(perSecond, length: 1, at: now)
        {
            return self.seconds[call]?.end
        }
        self.hours[call]?.count += 1
        self.seconds[call]?.count += 1
        return nil
    }
}
