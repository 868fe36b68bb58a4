internal import NIOCore

/// The decision whether the notifications of one client and topic go over the side connection: too many of their tokens
/// are refused.
///
/// ```
///              4 refused among the last 8 answers
///   trusted ──────────────────────────────────────▶ suspicious
///      ▲                                                │
///      └────────── 128 taken in a row, then 256, … ◀────┘
/// ```
struct Suspicion: Sendable {
    private enum State {
        /// One bit for each of the last answers; 1: refused.
        case trusted(recent: UInt8)
        case suspicious(takenInARow: Int)
    }

    /// The refusals among the last eight answers that make a flow suspicious. With six, APNs would close the common
    /// connection more often.
    static let refusals = 4
    /// The notifications in a row that APNs has to take before the first return. Each return doubles them, up to
    /// ``lastReturn``.
    static let firstReturn = 128
    static let lastReturn = 4096
    /// After each time of this length without suspicion, half as many are enough.
    static let forgiveness: TimeAmount = .hours(24)

    private var state = State.trusted(recent: 0)
    private var needed = Suspicion.firstReturn
    /// The time of the last return.
    private var trustedAt = NIODeadline.distantPast

    var isSuspicious: Bool { if case .suspicious = self.state { true } else { false } }

    /// Whether the last answer refused the token, while the flow is trusted.
    var wasRefused: Bool { if case .trusted(let recent) = self.state { recent & 1 == 1 } else { false } }

    /// Notes an answer. Returns whether ``isSuspicious`` changed.
    mutating func answered(_ verdict: Verdict, now: NIODeadline) -> Bool {
        switch (self.state, verdict) {
        case (_, .other):
            return false
        case (.trusted(let recent), _):
            let last = recent << 1 | (verdict == .countable ? 1 : 0)
            self.state = .trusted(recent: last)
            guard last.nonzeroBitCount >= Self.refusals else { return false }
            self.forgive(now: now)
            self.state = .suspicious(takenInARow: 0)
            return true
        case (.suspicious, .countable):
            self.state = .suspicious(takenInARow: 0)
            return false
        case (.suspicious(let count), .taken):
            self.state = .suspicious(takenInARow: count + 1)
            guard count + 1 >= self.needed else { return false }
            self.needed = min(self.needed * 2, Self.lastReturn)
            self.trustedAt = now
            self.state = .trusted(recent: 0)
            return true
        }
    }

    private mutating func forgive(now: NIODeadline) {
        guard self.needed > Self.firstReturn else { return }
        let times = (now - self.trustedAt).nanoseconds / Self.forgiveness.nanoseconds
        self.needed = max(self.needed >> min(times, 16), Self.firstReturn)
    }
}
