internal import NIOCore

/// The decision whether a flow goes over the side connection. The flow does so if APNs refuses too many of the flow's
/// tokens, or answers this flow alone with server errors.
///
/// ```
///              4 refused among the last 8 answers,
///              or 8 server errors in a row while APNs took others
///   trusted ──────────────────────────────────────────────────────▶ suspicious
///      ▲                                                                │
///      └────────────────── 128 taken in a row, then 256, … ◀────────────┘
/// ```
struct Suspicion: Sendable {
    private enum State {
        /// The flow is trusted. `recent` has one bit for each of the last answers; 1 means refused.
        case trusted(recent: UInt8, errors: ErrorRow)
        case suspicious(takenInARow: Int)
    }

    /// The number of refusals among the last eight answers that makes a flow suspicious. With six, APNs would close the
    /// common connection more often.
    static let refusals = 4
    /// The number of server errors in a row that makes a flow suspicious, if APNs accepted a notification of another
    /// flow meanwhile. With a lower number, an APNs that sometimes fails would make every flow suspicious.
    static let errors = 8
    /// The number of accepted notifications in a row after which a suspicious flow is trusted again. Each return
    /// doubles the number, up to ``lastReturn``.
    static let firstReturn = 128
    static let lastReturn = 4096
    /// The time as a trusted flow that halves the number again. Each further such time halves it once more, down to
    /// ``firstReturn``.
    static let forgiveness: TimeAmount = .hours(24)

    /// The server errors since APNs last accepted a notification of the flow or refused a token.
    private struct ErrorRow {
        var count = 0
        /// The number of notifications that APNs had taken over the common connection when the row began.
        var takenBefore: UInt64 = 0
    }

    private var state = State.trusted(recent: 0, errors: ErrorRow())
    private var needed = Suspicion.firstReturn
    /// When the flow last became trusted again.
    private var trustedAt = NIODeadline.distantPast

    var isSuspicious: Bool { if case .suspicious = self.state { true } else { false } }

    /// Whether the flow is trusted, and APNs refused the token in the last answer that counts. Server errors do not
    /// count, and neither do answers that say nothing about the token.
    var wasRefused: Bool { if case .trusted(let recent, _) = self.state { recent & 1 == 1 } else { false } }

    /// Notes an answer. Returns whether ``isSuspicious`` changed.
    ///
    /// - Parameter taken: the number of notifications that APNs has taken over the common connection.
    mutating func answered(_ verdict: Verdict, taken: UInt64 = 0, now: NIODeadline) -> Bool {
        switch (self.state, verdict) {
        case (_, .other):
            return false
        case (.trusted(let recent, var errors), .failed):
            if errors.count == 0 { errors.takenBefore = taken }
            errors.count += 1
            self.state = .trusted(recent: recent, errors: errors)
            guard errors.count >= Self.errors, taken > errors.takenBefore else { return false }
            self.suspect(now: now)
            return true
        case (.trusted(let recent, _), _):
            let last = recent << 1 | (verdict == .countable ? 1 : 0)
            self.state = .trusted(recent: last, errors: ErrorRow())
            guard last.nonzeroBitCount >= Self.refusals else { return false }
            self.suspect(now: now)
            return true
        case (.suspicious, .countable), (.suspicious, .failed):
            self.state = .suspicious(takenInARow: 0)
            return false
        case (.suspicious(let count), .taken):
            self.state = .suspicious(takenInARow: count + 1)
            guard count + 1 >= self.needed else { return false }
            self.needed = min(self.needed * 2, Self.lastReturn)
            self.trustedAt = now
            self.state = .trusted(recent: 0, errors: ErrorRow())
            return true
        }
    }

    private mutating func suspect(now: NIODeadline) {
        self.forgive(now: now)
        self.state = .suspicious(takenInARow: 0)
    }

    private mutating func forgive(now: NIODeadline) {
        guard self.needed > Self.firstReturn else { return }
        let times = (now - self.trustedAt).nanoseconds / Self.forgiveness.nanoseconds
        self.needed = max(self.needed >> min(times, 16), Self.firstReturn)
    }
}
