/// Whether a request is sent again after a failure, without I/O.
struct RequestRetry {
    enum Failure: Hashable {
        /// Apple took nothing: too many requests, or an error after which it asks for another try. It may have said how long to
        /// wait.
        case rateLimited(after: Duration?)
        /// A fault of the server: 5xx. It may have taken the request.
        case serverTrouble
        /// No connection, or one that ended.
        case connection(wasSent: Bool)
        /// Another try would end alike.
        case lasting
    }

    enum Action: Hashable {
        case repeatAfter(Duration)
        case giveUp
    }

    /// The first wait; each later one is twice as long.
    static let firstWait: Duration = .seconds(1)
    static let longestWait: Duration = .seconds(30)

    private let limit: Int
    private let isIdempotent: Bool
    private var failures = 0

    /// - Parameters:
    ///   - attempts: all in all, at least 1.
    ///   - isIdempotent: whether it does no harm if Apple gets the request twice.
    init(attempts: Int, isIdempotent: Bool) {
        self.limit = max(attempts, 1)
        self.isIdempotent = isIdempotent
    }

    /// - Parameter chance: 0 to 1. Half of a wait is chance, so that clients that failed together do not come again together.
    mutating func next(_ failure: Failure, chance: Double) -> Action {
        self.failures += 1
        guard self.failures < self.limit else { return .giveUp }
        let full = min(Self.firstWait * (1 << min(self.failures - 1, 10)), Self.longestWait)
        let wait = full / 2 + full / 2 * min(max(chance, 0), 1)
        switch failure {
        case .lasting: return .giveUp
        case .connection(let wasSent): return wasSent && !self.isIdempotent ? .giveUp : .repeatAfter(wait)
        case .serverTrouble: return self.isIdempotent ? .repeatAfter(wait) : .giveUp
        case .rateLimited(let told): return .repeatAfter(max(told ?? .zero, .zero) + wait)
        }
    }
}
