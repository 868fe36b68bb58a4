/// The number of requests that may be under way on a connection, according to how many answers connections had before
/// they ended.
///
/// The end of a connection costs the requests under way on it. Either it is unknown whether APNs has them, or, after a
/// GOAWAY, they were written in vain. Without a window, a peer that ends connections early would cost most of the
/// requests. So the window is a part of an earlier success: of the answers on this connection, or of the average number
/// of answers on connections that ended, whichever is larger.
///
/// ```
///            the window reaches the limit
///   untried ──────────────────────────────▶ open
///      │                                    ▲  │
///      │ an end costs something             │  │ an end costs something
///      │                                    │  ▼
///      └──────────────────────────────▶ narrowed
/// ```
///
/// The window has no clock: a connection that is used proves itself by answers, and an unused one needs no window.
struct EarnedWindow {
    /// The cost of a connection's end.
    enum Loss: Equatable {
        /// The number of written requests that the peer says it did not process.
        case copies(Int)
        /// It is unknown whether the peer has processed the requests.
        case unknown
    }

    private enum State {
        /// No connection has proved anything yet.
        case untried
        /// `progress` is the average number of answers on connections that ended. `doubt` is 1 after an end with
        /// requests of unknown fate. Each end that cost copies only makes it a quarter smaller.
        case narrowed(progress: Double, doubt: Double)
        case open
    }

    /// The window of a provider's first connection: the smallest number that a server should allow in SETTINGS (RFC
    /// 9113 section 6.5.2). It doubles with each window of answers.
    static let start = 100
    /// The divisor of progress while ends cost copies. With it, each notification is written one and a half times.
    static let divisorForCopies = 2.0
    /// The divisor of progress while ends leave requests in doubt: one request for every sixteen answers.
    static let divisorInDoubt = 16.0
    /// The weight of one more end in an average.
    static let weight = 0.25

    /// `maxStreams`
    private let limit: Int
    private var state = State.untried

    init(limit: Int) {
        self.limit = limit
    }

    /// Returns the number of requests that may be under way on a connection with this number of answers.
    func size(answered: Int) -> Int {
        switch self.state {
        case .open: return self.limit
        case .untried: return min(Self.start + answered, self.limit)
        case .narrowed(let progress, let doubt):
            let divisor = Self.divisorForCopies + (Self.divisorInDoubt - Self.divisorForCopies) * doubt
            return min(max(Int(max(progress, Double(answered)) / divisor), 1), self.limit)
        }
    }

    /// Notes the answers on an open connection. Returns the number of requests that may be under way on it.
    ///
    /// A connection that has earned the whole limit opens the window for all.
    mutating func proved(answered: Int) -> Int {
        let size = self.size(answered: answered)
        if size == self.limit { self.state = .open }
        return size
    }

    /// Notes an end after this number of answers. Do not call it for an end without cost, which proves nothing.
    mutating func ended(answered: Int, _ loss: Loss) {
        let isCheap = self.isCheap(loss, answered: answered)
        switch self.state {
        case .untried, .open:
            guard !isCheap else { return }
            self.state = .narrowed(progress: Double(answered), doubt: loss == .unknown ? 1 : 0)
        case .narrowed(let average, let doubt):
            // A cheap end does not lower the average: with more requests under way the peer might have answered more.
            let progress = isCheap ? max(Double(answered), average) : Double(answered)
            self.state = .narrowed(
                progress: average * (1 - Self.weight) + progress * Self.weight,
                doubt: loss == .unknown ? 1 : doubt * (1 - Self.weight)
            )
        }
    }

    /// Whether a loss is within what the window allows for.
    private func isCheap(_ loss: Loss, answered: Int) -> Bool {
        guard case .copies(let count) = loss else { return false }
        return Double(count) * Self.divisorForCopies <= Double(answered)
    }
}
