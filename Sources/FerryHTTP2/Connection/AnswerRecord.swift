/// The answers on a connection, and the cost of its end, for the ``EarnedWindow``.
///
/// The cost is reported once. It is reported twice if a GOAWAY promised answers that did not come.
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
        /// The end was reported as the cause of requests that were written in vain.
        case copies
        /// The end was reported as the cause of requests in doubt.
        case unknown
    }

    private var told = Told.untold
    /// The number of answers since the connection began, or since a burst of resets.
    private(set) var answered = 0
    /// The number of requests that the peer did not process because it closes the connection.
    private(set) var excluded = 0
    private var resets = ResetBurst()

    mutating func wasAnswered() {
        self.answered += 1
        self.resets.answered()
    }

    mutating func wasExcluded() { self.excluded += 1 }

    /// Notes a reset. Returns true if resets have now cost half of a window of requests.
    mutating func wasReset(window: Int) -> Bool { self.resets.reset(window: window) }

    /// Starts the count of answers again, because after a burst of resets the earlier answers promise nothing.
    mutating func beginAnew() { self.answered = 0 }

    /// Notes the cost of the connection's end. Returns the number of answers until the end; nil when the cost was
    /// reported before.
    ///
    /// - Parameter expected: the number of answers that are still to come.
    mutating func lost(_ loss: EarnedWindow.Loss, expected: Int) -> Int? {
        switch (self.told, loss) {
        case (.untold, .copies): self.told = .copies
        case (.untold, .unknown), (.copies, .unknown): self.told = .unknown
        case (.copies, .copies), (.unknown, _): return nil
        }
        return self.answered + expected
    }
}

/// The number of requests that the peer reset in a row, without an answer in between.
struct ResetBurst {
    private var count = 0
    private var limit = 0

    mutating func answered() { self.count = 0 }

    /// Notes a reset; returns true once in a burst, when it has cost half of a window of requests. Fewer resets may be
    /// failures of single requests.
    mutating func reset(window: Int) -> Bool {
        if self.count == 0 { self.limit = max(window / 2, 2) }
        self.count += 1
        return self.count == self.limit
    }
}
