/// The limit of one kind of request. The type has no clock: the time is an argument.
///
/// Apple states each limit per second, but counts by the hour. So a few requests may follow each other at once. An
/// hour that begins with a request has at most 3,600 times the limit. Source: "Identifying rate limits" (Apple).
struct RequestRate {
    /// The number of requests that may follow each other at once after a pause.
    static let burst = 10
    private static let hour: Duration = .seconds(3600)

    private let interval: Duration
    private let hourly: Int
    /// The time of the next request if the requests kept a steady pace.
    private var steady: Duration?
    private var window: (start: Duration, count: Int)?
    /// The time before which Apple wants no request.
    private var held: Duration?

    /// - Parameter perSecond: Apple's limit.
    init(perSecond: Double) {
        self.interval = .seconds(1) / max(perSecond, 0.001)
        self.hourly = max(Int((perSecond * 3600).rounded(.down)), 1)
    }

    /// The result of ``reserve(at:within:)``, with the wait of the request.
    enum Reservation: Hashable {
        case taken(wait: Duration)
        /// The wait would be longer than the request allows. The request was not counted, so later requests do not
        /// wait for it.
        case tooLate(wait: Duration)
    }

    /// Counts one request, and returns its wait.
    ///
    /// - Parameters:
    ///   - now: the time since any fixed moment. It must never go back.
    ///   - limit: the longest wait of the request.
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

    /// Holds all later requests until `time`, as Apple asked.
    mutating func hold(until time: Duration) {
        self.held = max(self.held ?? time, time)
    }
}

/// The calls of the App Store Server API that each have a limit.
enum RateKind: Hashable, CaseIterable {
    case notificationHistory, subscriptionStatuses, transactionHistory
    case testNotification, testNotificationStatus

    /// Apple's limit: requests per second for one app. "[…] a tenth in the sandbox" ("Identifying rate limits",
    /// Apple). An unknown environment has the limit of the sandbox.
    func perSecond(_ environment: AppStoreEnvironment) -> Double {
        let limit: Double =
            switch self {
            case .notificationHistory, .subscriptionStatuses, .transactionHistory: 50
            case .testNotification, .testNotificationStatus: 1
            }
        return environment == .production ? limit : limit / 10
    }
}
