internal import FerryCore
internal import FerryMachine
internal import NIOCore

extension HTTP2Connection {
    // MARK: Writing

    /// Notes that requests may be written now.
    mutating func beginWriting() { self.window.writing() }

    /// Makes a request.
    ///
    /// - Parameters:
    ///   - slot: the owner's number for the request, until the request is over.
    ///   - payload: its memory must stay in place until the request is over.
    ///   - names: the fields of the request that go into the HPACK table.
    /// - Throws: when the connection takes no more requests.
    mutating func request(
        _ slot: UInt64,
        _ fields: borrowing HeaderBlock,
        payload: UnsafeBufferPointer<UInt8>,
        names: IndexedNames,
        now: NIODeadline
    ) throws(HTTP2Error) {
        try self.streams.request(slot, fields, payload: payload, names: names, now: now)
    }

    /// Makes a request, and returns its stream.
    ///
    /// - Throws: when the connection takes no more requests.
    mutating func request(
        _ slot: UInt64,
        _ fields: borrowing HeaderBlock,
        copying body: [UInt8],
        now: NIODeadline
    ) throws(HTTP2Error) -> HTTP2Session.Stream {
        try self.streams.request(slot, fields, copying: body, now: now)
    }

    /// Whether a notification would leave at once, so that none that is made later arrives before it.
    func sendsWhole(_ entry: BatchEntry) -> Bool { self.streams.session.sendsWhole(Int(entry.payloadLength)) }

    /// Writes frames until about `limit` bytes; returns whether there were any.
    mutating func write(into buffer: inout ByteBuffer, atMost limit: Int) -> Bool {
        self.streams.write(into: &buffer, atMost: limit)
    }

    /// Notes that TLS has taken the written bytes, and where the stream of bytes below it ends now.
    mutating func flushed(at end: UInt64) { self.streams.flushed(at: end) }

    // MARK: Reading

    /// Takes bytes from the peer. Their events can be read even if this throws.
    ///
    /// - Throws: when the connection is of no more use.
    mutating func receive(_ bytes: ByteBuffer, now: Moment) throws(HTTP2Error) {
        self.heard(now: now)
        try bytes.withUnsafeReadableBytes { (bytes) throws(HTTP2Error) in try self.streams.receive(bytes) }
    }

    /// A request that is over is named by its slot.
    enum ReadAction {
        /// The window has changed to this number of requests.
        case windowAdjusted(Int)
        /// The peer answered. Call ``answered(_:earned:)`` next.
        case answered(InFlight.Request, PushAnswer)
        /// The peer did not process a request.
        ///
        /// `isExcluded`: the peer refused because the connection ends. If not, call ``narrow(now:using:)`` to send less.
        case refused(UInt64, isExcluded: Bool)
        /// The peer reset a request that it may have processed.
        ///
        /// `isBurst`: such resets have cost half a window of requests.
        case reset(UInt64, HTTP2ErrorCode, isBurst: Bool)
        /// A request ended before it was written completely.
        case unsent(UInt64)
        /// A GOAWAY arrived.
        case goAway(GoAwayState.Action)
    }

    /// Returns the next event in order; nil when all were read.
    @inline(__always)
    mutating func read(now: Moment) -> ReadAction? {
        while let event = self.streams.nextEvent(now: now.monotonic) {
            switch event {
            case .settings(let limit):
                let before = self.window.size
                self.window.settingsCame(limit, now: now.monotonic)
                if self.window.size != before { return .windowAdjusted(self.window.size) }
            case .answered(let request, let answer):
                self.answerTook(now.monotonic - request.written)
                return .answered(request, answer)
            case .refused(let slot):
                // A connection that ends refuses requests for that reason, and not because of load.
                let isExcluded = self.isLeaving
                if isExcluded { self.record.wasExcluded() } else { self.closeReason = .reset(.refusedStream) }
                return .refused(slot, isExcluded: isExcluded)
            case .reset(let slot, let errorCode):
                self.closeReason = .reset(errorCode)
                return .reset(slot, errorCode, isBurst: self.record.wasReset(window: self.window.size))
            case .unsent(let slot):
                return .unsent(slot)
            case .goAway(let goAway):
                self.closeReason = .goAway(goAway)
                self.takeNoMore()
                return .goAway(self.goAways.came(goAway))
            case .pingAnswered:
                self.pingAnswered(now: now)
            }
        }
        return nil
    }

    // MARK: Answers

    /// Notes the peer's answer to a request. It also counts if the connection is left or gone.
    ///
    /// - Parameter earned: is widened when the connection has had a window of answers.
    /// - Returns: the number of requests that may be under way now; nil for as many as before.
    mutating func answered(_ answer: PushAnswer, earned: inout EarnedWindow) -> Int? {
        let rule = answer.retryRule
        if rule == .elsewhere {
            // The answer is about the connection, and not about the request.
            self.closeReason = .answer(answer.reason ?? .unknown)
        } else {
            self.standing.answered()
            self.record.wasAnswered()
            if answer.isServerError { self.conduct.failed() } else { self.conduct.served() }
        }
        let before = self.window.size
        let isTokenTaken = answer.status != .forbidden && rule != .whenThawed
        if isTokenTaken, self.window.answered(), self.mayEarn {
            self.window.earn(earned.proved(answered: self.record.answered))
        }
        self.refusals.answered()
        return self.window.size == before ? nil : self.window.size
    }

    /// Whether answers may widen the window. A connection with the whole limit must not: it would reopen a window that
    /// the ends of other connections have narrowed meanwhile.
    private var mayEarn: Bool { self.window.isEarning && !self.state.isEnded }

    /// Sends less after a refusal because of load: halves the window, and pauses new requests.
    ///
    /// - Returns: the number of requests that may be under way now.
    mutating func narrow(now: NIODeadline, using generator: inout SplitMix64) -> Int {
        self.conduct.refused(now: now)
        self.window.refused()
        self.refusals.refused(now: now, using: &generator)
        return self.window.size
    }

    /// Pauses new requests after the end of a request that is sent again.
    mutating func pause(now: NIODeadline, using generator: inout SplitMix64) {
        self.refusals.refused(now: now, using: &generator)
    }

    /// Takes the window that all connections together have earned.
    mutating func earn(_ earned: EarnedWindow) {
        self.window.earn(earned.size(answered: self.record.answered))
    }

    /// Starts the count of answers again, after a burst of resets.
    mutating func beginAnew() { self.record.beginAnew() }

    /// Notes the cost of the connection's end. Returns the number of answers until the end; nil when the cost was
    /// reported before.
    ///
    /// - Parameter expected: the number of answers that are still to come.
    mutating func lost(_ loss: EarnedWindow.Loss, expected: Int = 0) -> Int? {
        self.record.lost(loss, expected: expected)
    }

    // MARK: Requests without an end

    /// When the connection stops getting new requests, although late answers may still come; nil if only an event can
    /// change that. Either the peer has ended no request for `attemptTimeout`, or the late requests fill the window.
    func lateAt(hasWork: Bool) -> NIODeadline? {
        guard !self.isLeaving, let written = self.streams.firstWritten else { return nil }
        let isFull = hasWork && self.room == 0
        return (isFull ? written : max(written, self.streams.lastAnswered)) + self.limits.attemptTimeout
    }

    /// Removes and returns the first request without an answer in time.
    mutating func nextLate(now: NIODeadline) -> RequestStreams.Late? {
        self.streams.nextLate(after: self.limits.answerLimit, now: now)
    }

    /// Removes a request under way, resets its stream, and returns its fate.
    mutating func take(_ stream: HTTP2Session.Stream) -> RequestStreams.Fate { self.streams.take(stream) }

    /// Whether the answer on a stream is longer than the session keeps.
    func isTooLong(_ stream: HTTP2Session.Stream) -> Bool { self.streams.session.isBodyTruncated(stream) }

    /// Removes and returns the first request of a connection that is gone.
    ///
    /// - Parameter handed: the number of bytes that the system took of the stream below TLS.
    mutating func nextLost(handed: UInt64) -> (request: InFlight.Request, fate: RequestStreams.Fate)? {
        self.streams.nextLost(handed: handed)
    }
}
