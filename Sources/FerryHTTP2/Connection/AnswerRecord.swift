/// What a connection has brought, and what its end costs, for the ``EarnedWindow``.
///
/// The cost is told once; or twice, where a GOAWAY promised answers that did not come.
///
/// ```
///             copies               unknown
///   untold ───────────▶ copies ──────────────▶ unknown
///     │                                           ▲
///     └───────────────── unknown ─────────────────┘
/// ```
struct AnswerRecord {
    private enum Told {
        case untold
        /// The end was told to cost requests that were written in vain.
        case copies
        /// The end was told to leave requests in doubt.
        case unknown
    }

    private var told = Told.untold
    /// How many answers there were since the connection began, or since a burst of resets.
    private(set) var answered = 0
    /// How many requests the peer did not process because it closes the connection.
    private(set) var excluded = 0
    private var resets = ResetBurst()

    mutating func wasAnswered() {
        self.answered += 1
        self.resets.answered()
    }

    mutating func wasExcluded() { self.excluded += 1 }

    /// Notes a reset; true when resets have now cost half of a window of requests.
    mutating func wasReset(window: Int) -> Bool { self.resets.reset(window: window) }

    /// Counts answers anew: those before a burst of resets say nothing of what comes after it.
    mutating func beginAnew() { self.answered = 0 }

    /// Notes what the end of the connection costs; returns after how many answers it ended, or nil when that was told.
    ///
    /// - Parameter expected: how many answers are still to come.
    mutating func lost(_ loss: EarnedWindow.Loss, expected: Int) -> Int? {
        switch (self.told, loss) {
        case (.untold, .copies): self.told = .copies
        case (.untold, .unknown), (.copies, .unknown): self.told = .unknown
        case (.copies, .copies), (.unknown, _): return nil
        }
        return self.answered + expected
    }
}

/// Requests that the peer reset one after the other, without an answer in between.
struct ResetBurst {
    private var count = 0
    private var limit = 0

    mutating func answered() { self.count = 0 }

    /// Notes a reset; true once in a burst, when it has cost half of a window of requests. Before that, the peer may have
    /// failed at single requests.
    mutating func reset(window: Int) -> Bool {
        if self.count == 0 { self.limit = max(window / 2, 2) }
        self.count += 1
        return self.count == self.limit
    }
}
