internal import FerryCore
internal import NIOCore

/// The session of a connection and the requests that are under way on it: what was written, and what became of it.
struct RequestStreams: ~Copyable {
    private(set) var session: HTTP2Session
    private var inFlight = InFlight()
    /// What requests have put into the table of HPACK.
    private(set) var indexedNames: IndexedNames = []
    /// Where the stream of bytes below TLS ends.
    private var sentTo: UInt64 = 0
    /// When the peer answered, refused or reset a request last. Other frames are no sign that it serves any.
    private var lastAnswered: NIODeadline
    /// The stream of an answer that came before its request was sent whole. It is reset after the answer was handled.
    private var answeredEarly: HTTP2Session.Stream?

    init(now: NIODeadline) throws(HTTP2Error) {
        self.session = try HTTP2Session(role: .client)
        self.lastAnswered = now
    }

    // MARK: What there is

    /// How many requests are under way.
    var count: Int { self.inFlight.count }

    /// Whether a request was written.
    var isUsed: Bool { !self.indexedNames.isEmpty }

    /// When the first of the requests under way was written; nil when there is none.
    var firstWritten: NIODeadline? { self.inFlight.firstWritten }

    // MARK: Writing

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
        let stream = try self.session.request(fields, body: payload)
        self.indexedNames.formUnion(IndexedNames(of: attempt.run.entries[0]))
        attempt.wasWritten = true
        self.inFlight.insert(
            attempt,
            stream,
            tokenGeneration: tokenGeneration,
            written: now,
            sentFrom: self.sentTo
        )
    }

    /// Writes frames until about `limit` bytes; returns whether there were any.
    mutating func write(into buffer: inout ByteBuffer, atMost limit: Int) -> Bool {
        self.session.write(into: &buffer, atMost: limit)
    }

    /// What was written is with TLS, and the stream of bytes below it ends there now.
    mutating func flushed(at end: UInt64) { self.sentTo = end }

    mutating func ping() { self.session.ping() }

    mutating func goAway() { self.session.goAway() }

    // MARK: Reading

    mutating func receive(_ bytes: UnsafeRawBufferPointer) throws(HTTP2Error) { try self.session.receive(bytes) }

    enum Event {
        /// SETTINGS allow so many streams.
        case settings(Int)
        case answered(InFlight.Request, Answer)
        /// "The stream was refused before any application processing" (RFC 9113, section 7).
        case refused(Attempt)
        /// The request was written whole, and the peer reset it without an answer.
        case reset(Attempt, HTTP2ErrorCode)
        /// The request ended before it was written whole: the peer cannot have understood it.
        case unsent(Attempt)
        case goAway(GoAway)
        case pingAnswered
    }

    /// What happened, in its order; nil when everything was read.
    mutating func nextEvent(now: NIODeadline) -> Event? {
        if let stream = self.answeredEarly {
            self.answeredEarly = nil
            self.session.reset(stream, errorCode: HTTP2ErrorCode.cancel.rawValue)
        }
        while let event = self.session.nextEvent() {
            switch event {
            case .settings(let limit):
                return .settings(limit)
            case .closed(let stream, let errorCode):
                if let event = self.over(stream, errorCode, now: now) { return event }
            case .ended(let stream):
                guard let event = self.over(stream, 0, now: now) else { continue }
                // What is left of the body is of no interest to a peer that has answered.
                if !self.session.isSent(stream) { self.answeredEarly = stream }
                return event
            case .goAway(let lastStreamID, let errorCode, let debugData):
                return .goAway(
                    debugData.withUnsafeBufferPointer {
                        GoAway(
                            lastStreamID: lastStreamID,
                            errorCode: HTTP2ErrorCode(rawValue: errorCode),
                            debugData: $0
                        )
                    }
                )
            case .pingAnswered:
                return .pingAnswered
            case .headers:
                continue
            }
        }
        return nil
    }

    /// A stream is over: what became of its request? Nil when that was told before.
    private mutating func over(_ stream: HTTP2Session.Stream, _ errorCode: UInt32, now: NIODeadline) -> Event? {
        guard let request = self.inFlight.remove(stream) else { return nil }
        self.lastAnswered = now
        if let answer = self.session.answer(of: stream) { return .answered(request, answer) }
        if errorCode == HTTP2ErrorCode.refusedStream.rawValue { return .refused(request.attempt) }
        guard self.session.isSent(stream) else { return .unsent(request.attempt) }
        return .reset(request.attempt, HTTP2ErrorCode(rawValue: errorCode))
    }

    // MARK: Requests without an end

    /// What is known of a request whose stream did not end.
    enum Fate {
        case answered(Answer)
        /// The peer cannot have understood it.
        case unsent
        /// Nothing says whether the peer processed it.
        case unknown
    }

    /// A request that had no answer in time.
    struct Late {
        var request: InFlight.Request
        var fate: Fate
        /// Whether all of the request was written.
        var isSent: Bool
        /// Whether the peer answered, refused or reset no request since this one was written.
        var isPeerSilent: Bool
    }

    /// Takes the first request back that had no answer for so long, and resets its stream.
    mutating func nextLate(after limit: TimeAmount, now: NIODeadline) -> Late? {
        guard let (stream, first) = self.inFlight.first, first.written + limit <= now,
            let request = self.inFlight.remove(stream)
        else { return nil }
        let fate = self.fate(of: stream, mayHaveLeft: true)
        let isSent = self.session.isSent(stream)
        self.session.reset(stream, errorCode: HTTP2ErrorCode.cancel.rawValue)
        return Late(
            request: request,
            fate: fate,
            isSent: isSent,
            isPeerSilent: self.lastAnswered <= request.written
        )
    }

    /// Takes the first request back when the connection is gone.
    ///
    /// The system is asked for whole writes only. Of the first that it did not take whole it may have taken a part.
    ///
    /// - Parameter handed: how many bytes of the stream below TLS the system took.
    mutating func nextLost(handed: UInt64) -> (request: InFlight.Request, fate: Fate)? {
        guard let (stream, _) = self.inFlight.first, let request = self.inFlight.remove(stream) else { return nil }
        return (request, self.fate(of: stream, mayHaveLeft: handed >= request.sentFrom))
    }

    /// Takes the first request back from a peer that listened to none.
    mutating func nextUnheard() -> Attempt? {
        guard let (stream, _) = self.inFlight.first else { return nil }
        return self.inFlight.remove(stream)?.attempt
    }

    private func fate(of stream: HTTP2Session.Stream, mayHaveLeft: Bool) -> Fate {
        if let answer = self.session.answer(of: stream) { return .answered(answer) }
        return mayHaveLeft && self.session.isSent(stream) ? .unknown : .unsent
    }
}
