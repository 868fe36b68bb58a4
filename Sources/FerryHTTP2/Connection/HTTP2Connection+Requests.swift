internal import FerryCore
internal import FerryMachine
internal import NIOCore

extension HTTP2Connection {
    // MARK: Writing

    /// Requests may be written now.
    mutating func beginWriting() { self.window.writing() }

    /// Makes a request.
    ///
    /// - Parameter payload: stays where it is until the request is over.
    /// - Throws: when the connection takes no requests any more.
    mutating func request(
        _ attempt: consuming Attempt,
        _ fields: borrowing HeaderBlock,
        payload: UnsafeBufferPointer<UInt8>,
        tokenGeneration: UInt64,
        now: NIODeadline
    ) throws(HTTP2Error) {
        try self.streams.request(attempt, fields, payload: payload, tokenGeneration: tokenGeneration, now: now)
    }

    /// Writes frames until about `limit` bytes; returns whether there were any.
    mutating func write(into buffer: inout ByteBuffer, atMost limit: Int) -> Bool {
        self.streams.write(into: &buffer, atMost: limit)
    }

    /// What was written is with TLS, and the stream of bytes below it ends there now.
    mutating func flushed(at end: UInt64) { self.streams.flushed(at: end) }

    // MARK: Reading

    /// Bytes came. What they say is there to be read, also when this throws.
    ///
    /// - Throws: when the connection is of no use any more.
    mutating func receive(_ bytes: ByteBuffer, now: NIODeadline) throws(HTTP2Error) {
        self.used(now: now)
        try bytes.withUnsafeReadableBytes { (bytes) throws(HTTP2Error) in try self.streams.receive(bytes) }
    }

    enum ReadAction {
        /// So many requests may be under way now.
        case windowAdjusted(Int)
        /// The peer answered. ``answered(_:earned:)`` follows.
        case answered(InFlight.Request, Answer)
        /// The peer did not process a request. So many may be under way now; nil: it refused because the connection ends.
        case refused(Attempt, window: Int?)
        /// The peer reset a request that it may have processed.
        ///
        /// `isBurst`: such resets have cost half a window of requests.
        case reset(Attempt, HTTP2ErrorCode, isBurst: Bool)
        /// A request ended before it was written whole.
        case unsent(Attempt)
        /// GOAWAY came.
        case goAway(GoAwayState.Action)
    }

    /// What happened, in its order; nil when everything was read.
    mutating func read(now: NIODeadline, using generator: inout SplitMix64) -> ReadAction? {
        while let event = self.streams.nextEvent(now: now) {
            switch event {
            case .settings(let limit):
                let before = self.window.size
                self.window.settingsCame(limit, now: now)
                if self.window.size != before { return .windowAdjusted(self.window.size) }
            case .answered(let request, let answer):
                return .answered(request, answer)
            case .refused(let attempt):
                // A connection that ends refuses for that, and not for its load.
                guard !self.isLeaving else {
                    self.record.wasExcluded()
                    return .refused(attempt, window: nil)
                }
                self.lastWord = .reset(.refusedStream)
                self.window.refused()
                self.refusals.refused(now: now, using: &generator)
                return .refused(attempt, window: self.window.size)
            case .reset(let attempt, let errorCode):
                self.lastWord = .reset(errorCode)
                return .reset(attempt, errorCode, isBurst: self.record.wasReset(window: self.window.size))
            case .unsent(let attempt):
                self.refusals.refused(now: now, using: &generator)
                return .unsent(attempt)
            case .goAway(let goAway):
                self.lastWord = .goAway(goAway)
                self.takeNoMore()
                return .goAway(self.goAways.came(goAway))
            case .pingAnswered:
                self.pingAnswered(now: now)
            }
        }
        return nil
    }

    // MARK: Answers

    /// The peer answered a request. Answers on a connection that is left, or gone, count, too.
    ///
    /// - Parameter earned: widened when the connection has had a window of answers.
    /// - Returns: how many requests may be under way now; nil: as many as before.
    mutating func answered(_ answer: Answer, earned: inout EarnedWindow) -> Int? {
        let rule = answer.retryRule
        if rule == .elsewhere {
            // It says that the connection is of no use, and nothing of the request.
            self.lastWord = .answer(answer.reason ?? .unknown)
        } else {
            self.standing.answered()
            self.record.wasAnswered()
        }
        let before = self.window.size
        let isTokenTaken = answer.status != .forbidden && rule != .whenThawed
        if isTokenTaken, self.window.answered(), self.mayEarn {
            self.window.earn(earned.proved(answered: self.record.answered))
        }
        self.refusals.answered()
        return self.window.size == before ? nil : self.window.size
    }

    /// A connection that has the whole limit has nothing more to prove: others may be ending meanwhile.
    private var mayEarn: Bool { self.window.isEarning && !self.state.isEnded }

    /// A request was reset, and is sent again: new ones wait for a while.
    mutating func pause(now: NIODeadline, using generator: inout SplitMix64) {
        self.refusals.refused(now: now, using: &generator)
    }

    /// Takes what all connections together have earned.
    mutating func earn(_ earned: EarnedWindow) {
        self.window.earn(earned.size(answered: self.record.answered))
    }

    /// Counts answers anew, after a burst of resets.
    mutating func beginAnew() { self.record.beginAnew() }

    /// Notes what the end of the connection costs; returns after how many answers it ended, or nil when that was told.
    ///
    /// - Parameter expected: how many answers are still to come.
    mutating func lost(_ loss: EarnedWindow.Loss, expected: Int = 0) -> Int? {
        self.record.lost(loss, expected: expected)
    }

    // MARK: Requests without an end

    /// Takes the first request back that had no answer in time.
    mutating func nextLate(now: NIODeadline) -> RequestStreams.Late? {
        self.streams.nextLate(after: self.limits.attemptTimeout, now: now)
    }

    /// Takes the first request back when the connection is gone.
    ///
    /// - Parameter handed: how many bytes of the stream below TLS the system took.
    mutating func nextLost(handed: UInt64) -> (request: InFlight.Request, fate: RequestStreams.Fate)? {
        self.streams.nextLost(handed: handed)
    }

    /// Takes the first request back from a peer that listened to none.
    mutating func nextUnheard() -> Attempt? { self.streams.nextUnheard() }
}
