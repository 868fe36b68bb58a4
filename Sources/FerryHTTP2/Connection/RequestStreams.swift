internal import FerryCore
internal import NIOCore

/// The session of a connection and the requests under way on it: which bytes were written, and how each request ended.
///
/// A request is known by the slot that its owner gave it. So notifications and calls about channels share this code, and
/// it needs no type parameter.
struct RequestStreams: ~Copyable {
    private(set) var session: HTTP2Session
    private var inFlight = InFlight()
    /// The names that requests have put into the HPACK table.
    private(set) var indexedNames: IndexedNames = []
    /// Whether a request was written.
    private(set) var isUsed = false
    /// The end of the stream of bytes below TLS.
    private var sentTo: UInt64 = 0
    /// When the peer last answered or reset a request. A refusal and other frames do not show that it serves requests.
    private(set) var lastAnswered: NIODeadline
    /// The stream of an answer that came before its request was sent completely. It is reset after the answer was
    /// handled.
    private var answeredEarly: HTTP2Session.Stream?

    init(_ settings: HTTP2Session.Settings, now: NIODeadline) throws(HTTP2Error) {
        self.session = try HTTP2Session(role: .client, settings: settings)
        self.lastAnswered = now
    }

    // MARK: Queries

    /// The number of requests under way.
    var count: Int { self.inFlight.count }

    /// When the oldest request under way was written; nil when there is none.
    var firstWritten: NIODeadline? { self.inFlight.first?.written }

    // MARK: Writing

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
        let stream = try self.session.request(fields, body: payload)
        self.indexedNames.formUnion(names)
        self.insert(slot, stream, now: now)
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
        let stream = try self.session.request(fields, copying: body)
        self.insert(slot, stream, now: now)
        return stream
    }

    private mutating func insert(_ slot: UInt64, _ stream: HTTP2Session.Stream, now: NIODeadline) {
        self.isUsed = true
        self.inFlight.insert(InFlight.Request(slot: slot, stream: stream, written: now, sentFrom: self.sentTo))
    }

    /// Writes frames until about `limit` bytes; returns whether there were any.
    mutating func write(into buffer: inout ByteBuffer, atMost limit: Int) -> Bool {
        self.session.write(into: &buffer, atMost: limit)
    }

    /// Notes that TLS has taken the written bytes, and where the stream of bytes below it ends now.
    mutating func flushed(at end: UInt64) { self.sentTo = end }

    mutating func ping() { self.session.ping() }

    mutating func goAway() { self.session.goAway() }

    // MARK: Reading

    mutating func receive(_ bytes: UnsafeRawBufferPointer) throws(HTTP2Error) { try self.session.receive(bytes) }

    /// A request that is over is named by its slot.
    enum Event {
        /// SETTINGS allow this number of streams.
        case settings(Int)
        case answered(InFlight.Request, PushAnswer)
        /// "The stream was refused before any application processing" (RFC 9113, section 7). libnghttp2 also ends so the
        /// streams that a GOAWAY excludes.
        case refused(UInt64)
        /// The request was written completely, and the peer reset it without an answer.
        case reset(UInt64, HTTP2ErrorCode)
        /// The request ended before it was written completely: the peer cannot have understood it.
        case unsent(UInt64)
        case goAway(GoAway)
        case pingAnswered
    }

    /// Returns the next event in order; nil when all were read.
    ///
    /// Inlined up to its caller's switch, as everything that makes an event: each is large, and would be moved three times
    /// for every answer.
    @inline(__always)
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
                // The rest of the body would be useless, because the peer has answered already.
                if !self.session.isSent(stream) { self.answeredEarly = stream }
                return event
            case .goAway(_, let errorCode, let debugData):
                return .goAway(
                    debugData.withUnsafeBufferPointer {
                        GoAway(errorCode: HTTP2ErrorCode(rawValue: errorCode), debugData: $0)
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

    /// Returns the result of the request whose stream ended; nil when it was reported before.
    @inline(__always)
    private mutating func over(_ stream: HTTP2Session.Stream, _ errorCode: UInt32, now: NIODeadline) -> Event? {
        guard let request = self.inFlight.remove(stream) else { return nil }
        if let answer = self.session.answer(of: stream) {
            self.lastAnswered = now
            return .answered(request, answer)
        }
        if errorCode == HTTP2ErrorCode.refusedStream.rawValue { return .refused(request.slot) }
        self.lastAnswered = now
        guard self.session.isSent(stream) else { return .unsent(request.slot) }
        return .reset(request.slot, HTTP2ErrorCode(rawValue: errorCode))
    }

    // MARK: Requests without an end

    /// The state of a request whose stream did not end.
    enum Fate {
        case answered(PushAnswer)
        /// The peer cannot have understood it.
        case unsent
        /// It is unknown whether the peer processed it.
        case unknown
    }

    /// A request without an answer in time.
    struct Late {
        var request: InFlight.Request
        var fate: Fate
        /// Whether the whole request was written.
        var isSent: Bool
        /// Whether the peer answered or reset no request after this one was written.
        var isPeerSilent: Bool
    }

    /// Removes and returns the first request without an answer for `limit`, and resets its stream.
    mutating func nextLate(after limit: TimeAmount, now: NIODeadline) -> Late? {
        guard let request = self.inFlight.first, request.written + limit <= now else { return nil }
        let isSent = self.session.isSent(request.stream)
        return Late(
            request: request,
            fate: self.take(request.stream),
            isSent: isSent,
            isPeerSilent: self.lastAnswered <= request.written
        )
    }

    /// Removes a request under way, resets its stream, and returns its fate.
    mutating func take(_ stream: HTTP2Session.Stream) -> Fate {
        _ = self.inFlight.remove(stream)
        let fate = self.fate(of: stream, mayHaveLeft: true)
        self.session.reset(stream, errorCode: HTTP2ErrorCode.cancel.rawValue)
        return fate
    }

    /// Removes and returns the first request of a connection that is gone.
    ///
    /// The system gets whole writes only. It may have taken a part of the first write that it did not take completely.
    ///
    /// - Parameter handed: the number of bytes that the system took of the stream below TLS.
    mutating func nextLost(handed: UInt64) -> (request: InFlight.Request, fate: Fate)? {
        guard let request = self.inFlight.first else { return nil }
        _ = self.inFlight.remove(request.stream)
        return (request, self.fate(of: request.stream, mayHaveLeft: handed >= request.sentFrom))
    }

    private func fate(of stream: HTTP2Session.Stream, mayHaveLeft: Bool) -> Fate {
        if let answer = self.session.answer(of: stream) { return .answered(answer) }
        // Without a body, a request is sent from the start: its first frame decides.
        let isSent = self.session.isSent(stream) && self.session.hasBegun(stream)
        return mayHaveLeft && isSent ? .unknown : .unsent
    }
}
