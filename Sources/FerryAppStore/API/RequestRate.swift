/// When the next request of one kind may go, without a clock: the time comes in.
///
/// Apple states each limit per second, and counts it by the hour. So a few requests may follow each other at once, and an
/// hour has no more than 3,600 times the limit. Source: "Identifying rate limits" (Apple).
struct RequestRate {
    /// How many requests may follow each other at once when none went before.
    static let burst = 10
    private static let hour: Duration = .seconds(3600)

    private let interval: Duration
    private let hourly: Int
    /// When the next request would go at a steady pace.
    private var steady: Duration?
    private var window: (start: Duration, count: Int)?
    /// No request goes before this time: Apple said so.
    private var held: Duration?

    /// - Parameter perSecond: Apple's limit.
    init(perSecond: Double) {
        self.interval = .seconds(1) / max(perSecond, 0.001)
        self.hourly = max(Int((perSecond * 3600).rounded(.down)), 1)
    }

    /// Whether a request has its place, and how long it must wait for it.
    enum Reservation: Hashable {
        case taken(wait: Duration)
        /// The wait is longer than the request may take. No place was taken: later requests do not wait for it.
        case tooLate(wait: Duration)
    }

    /// Takes the place of one request.
    ///
    /// - Parameters:
    ///   - now: a time that never runs back, from any beginning.
    ///   - limit: how long the request may wait.
    mutating func reserve(at now: Duration, within limit: Duration) -> Reservation {
        var due = now
        if let held { due = max(due, held) }
        if let steady { due = max(due, steady - self.interval * (Self.burst - 1)) }
        if let window, window.count >= self.hourly { due = max(due, window.start + Self.hour) }
        guard due - now <= limit else { return .tooLate(wait: due - now) }
        if let window, due < window.start + Self.hour {
            self.window = (window.start, window.count + 1)
        } else {
            self.window = (due, 1)
        }
        self.steady = max(self.steady ?? due, due) + self.interval
        return .taken(wait: due - now)
    }

    /// Lets no request go before a time.
    mutating func hold(until time: Duration) {
        self.held = max(self.held ?? time, time)
    }
}

/// The calls of the App Store Server API that have a limit of their own.
enum RateKind: Hashable, CaseIterable {
    case notificationHistory, subscriptionStatuses, transactionHistory
    case testNotification, testNotificationStatus

    /// Requests per second and app. "[…] a tenth in the sandbox" ("Identifying rate limits", Apple)
    func perSecond(_ environment: AppStoreEnvironment) -> Double {
        let limit: Double =
            switch self {
            case .notificationHistory, .subscriptionStatuses, .transactionHistory: 50
            case .testNotification, .testNotificationStatus: 1
            }
        return environment == .production ? limit : limit / 10
    }
}
