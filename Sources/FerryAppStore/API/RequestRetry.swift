/// The decision whether to repeat a request after a failure, without I/O.
struct RequestRetry {
    enum Failure: Hashable {
        /// Apple did not process the request: there were too many, or Apple asks to try again. The answer may say how
        /// long to wait.
        case rateLimited(after: Duration?)
        /// A fault of the server (5xx). The server may have processed the request.
        case serverTrouble
        /// No connection was made, or the connection ended.
        case connection(wasSent: Bool)
        /// A repetition would fail in the same way.
        case lasting
    }

    enum Action: Hashable {
        case repeatAfter(Duration)
        case giveUp
    }

    /// The first wait, before chance shortens it. Each later wait is twice as long.
    static let firstWait: Duration = .seconds(1)
    static let longestWait: Duration = .seconds(30)

    private let limit: Int
    private let isIdempotent: Bool
    private var failures = 0

    /// - Parameters:
    ///   - attempts: the number of all attempts, at least 1.
    ///   - isIdempotent: whether the request does no harm if Apple gets it twice.
    init(attempts: Int, isIdempotent: Bool) {
        self.limit = max(attempts, 1)
        self.isIdempotent = isIdempotent
    }

    /// Returns the action after a failure.
    ///
    /// - Parameter chance: a random number from 0 to 1. It decides half of the wait, so that clients that failed
    ///   together do not all return together.
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
