/// How many requests may be under way on a connection, by how far connections got before they ended.
///
/// The end of a connection costs what is under way on it: requests of which nothing says whether APNs has them, or, after
/// a GOAWAY, requests that were written in vain. Without a window, a peer that ends connections early costs most of what
/// is sent. So what is under way is a part of what a connection has had answered, or of what connections have had answered
/// on average when they ended, whichever is more.
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
/// It has no clock: a connection that is used proves itself by answers, and one that is not used needs no window.
struct EarnedWindow {
    /// What the end of a connection cost.
    enum Loss: Equatable {
        /// So many requests were written that the peer says it did not process.
        case copies(Int)
        /// Nothing says whether the peer has processed requests.
        case unknown
    }

    private enum State {
        /// No connection has shown anything yet.
        case untried
        /// `progress` is the average number of answers that connections had when they ended. `doubt` is 1 after an end with
        /// requests of unknown fate, and a quarter less after each end that cost copies only.
        case narrowed(progress: Double, doubt: Double)
        case open
    }

    /// The window of a provider's first connection: the least that a server should allow in SETTINGS (RFC 9113 section
    /// 6.5.2). It doubles with each window of answers.
    static let start = 100
    /// The divisor of progress while ends cost copies: each notification is written one and a half times.
    static let divisorForCopies = 2.0
    /// The divisor of progress while ends leave requests in doubt: one for sixteen that are answered.
    static let divisorInDoubt = 16.0
    /// How much of an average one more end is.
    static let weight = 0.25

    /// `maxStreams`
    private let limit: Int
    private var state = State.untried

    init(limit: Int) {
        self.limit = limit
    }

    /// How many requests may be under way on a connection that has had so many answers.
    func size(answered: Int) -> Int {
        switch self.state {
        case .open: return self.limit
        case .untried: return min(Self.start + answered, self.limit)
        case .narrowed(let progress, let doubt):
            let divisor = Self.divisorForCopies + (Self.divisorInDoubt - Self.divisorForCopies) * doubt
            return min(max(Int(max(progress, Double(answered)) / divisor), 1), self.limit)
        }
    }

    /// Notes that a connection is there after so many answers; returns how many requests may be under way on it.
    ///
    /// One that has earned the whole limit opens it for all.
    mutating func proved(answered: Int) -> Int {
        let size = self.size(answered: answered)
        if size == self.limit { self.state = .open }
        return size
    }

    /// Notes an end after so many answers. An end that cost nothing says nothing, and is not noted.
    mutating func ended(answered: Int, _ loss: Loss) {
        let isCheap = self.isCheap(loss, answered: answered)
        switch self.state {
        case .untried, .open:
            guard !isCheap else { return }
            self.state = .narrowed(progress: Double(answered), doubt: loss == .unknown ? 1 : 0)
        case .narrowed(let average, let doubt):
            // With more under way the peer might have answered more: that an end was cheap is no reason for less.
            let progress = isCheap ? max(Double(answered), average) : Double(answered)
            self.state = .narrowed(
                progress: average * (1 - Self.weight) + progress * Self.weight,
                doubt: loss == .unknown ? 1 : doubt * (1 - Self.weight)
            )
        }
    }

    /// Whether a loss is no more than what the window allows for.
    private func isCheap(_ loss: Loss, answered: Int) -> Bool {
        guard case .copies(let count) = loss else { return false }
        return Double(count) * Self.divisorForCopies <= Double(answered)
    }
}
