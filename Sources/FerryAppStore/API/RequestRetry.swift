/// The decision whether to repeat a request after a failure, without I/O.
struct RequestRetry {
    enum Failure: Hashable {
        /// Apple did not process the request: there were too many requests, or Apple asks to try again (5000001).
        /// `after` is the wait that the answer to too many requests demands; nil if the answer demands none, and for
        /// 5000001.
        case rateLimited(after: Duration?)
        /// The answer has a status of 500 or more, and is not ``rateLimited(after:)``. The server may have processed
        /// the request.
        case serverTrouble
        /// No connection was made, the connection ended, or the attempt took too long.
        case connection(wasSent: Bool)
        /// A repetition would fail in the same way.
        case lasting
    }

    enum Action: Hashable {
        case repeatAfter(Duration)
        case giveUp
    }

    /// The first wait. Each later wait is twice as long, up to ``longestWait``. Chance then shortens the wait to
    /// between a half and the whole. A wait that the answer demands is added.
    static let firstWait: Duration = .seconds(1)
    static let longestWait: Duration = .seconds(30)

    private let limit: Int
    private let isIdempotent: Bool
    private var failures = 0

    /// - Parameters:
    ///   - attempts: the largest number of attempts, the first included. A number below 1 counts as 1.
    ///   - isIdempotent: whether the request does no harm if Apple gets it twice.
    init(attempts: Int, isIdempotent: Bool) {
        self.limit = max(attempts, 1)
        self.isIdempotent = isIdempotent
    }

    /// Returns the action after a failure.
    ///
    /// - Parameter chance: a random number from 0 to 1, which decides the length of the wait's second half. So clients
    ///   that failed at the same time do not all return at the same time.
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
