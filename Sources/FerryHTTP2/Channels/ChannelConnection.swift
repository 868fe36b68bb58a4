internal import FerryCore
internal import FerryMachine
internal import NIOCore

/// One connection of a ``ChannelClient``, without I/O: its session, and the requests under way on it.
///
/// ```
///          GOAWAY, silence, idleness,      nothing is under way,
///          another key, shutdown           all is written
///   open ─────────────────────────▶ leaving ─────────────────▶ finished ──▶ gone
/// ```
struct ChannelConnection: ~Copyable {
    enum State: Equatable {
        /// The connection takes requests. Nothing is under way since that time; nil: something is.
        case open(idleSince: NIODeadline?)
        /// The connection takes no new requests, and those under way are still answered. Our own GOAWAY, if it is owed,
        /// waits until then.
        case leaving(owesGoAway: Bool)
        /// The owner was asked to end the connection. If it is not gone by that time, it is closed.
        case finished(until: NIODeadline)
    }

    /// The number of requests under way. Each may bring a whole list, so it bounds the memory.
    static let streamLimit = 8
    /// The bytes that APNs may send on a stream before it waits for Ferry. A list is longer than the 65,535 bytes of
    /// HTTP/2's default.
    private static let streamWindow: UInt32 = 256 << 10
    private static let connectionWindow: Int32 = 1 << 20

    let id: ConnectionID
    private(set) var state: State
    private(set) var session: HTTP2Session
    private(set) var requests: [ChannelRequest] = []
    /// The number of streams that SETTINGS allow. APNs may allow 1 at first.
    private var allowed = 1
    /// The number of the key that signed the connection's first token. Nil before it, and with a certificate.
    private(set) var key: UInt64?
    /// Whether the peer has answered, refused or reset a request.
    private(set) var hasAnswered = false
    /// The end of the stream of bytes below TLS.
    private var sentTo: UInt64 = 0

    /// - Parameter listLimit: the longest body in bytes.
    init(id: ConnectionID, listLimit: Int, now: NIODeadline) throws(HTTP2Error) {
        var settings = HTTP2Session.Settings()
        settings.maximumBodyLength = listLimit
        settings.initialWindowSize = Self.streamWindow
        settings.connectionWindowSize = Self.connectionWindow
        self.session = try HTTP2Session(role: .client, settings: settings)
        self.id = id
        self.state = .open(idleSince: now)
    }

    // MARK: Queries

    var isOpen: Bool {
        if case .open = self.state { true } else { false }
    }

    /// When the connection became idle. Nil if it is not open, or something is under way.
    var idleSince: NIODeadline? {
        if case .open(let since) = self.state { since } else { nil }
    }

    /// When the connection is closed if it is still there.
    var closesAt: NIODeadline? {
        if case .finished(let until) = self.state { until } else { nil }
    }

    /// The number of further requests that may be under way.
    var room: Int { self.isOpen ? max(min(self.allowed, Self.streamLimit) - self.requests.count, 0) : 0 }

    // MARK: Requests

    /// Makes a request.
    ///
    /// - Throws: when the connection takes no more requests.
    mutating func request(
        _ call: ChannelCall,
        _ fields: borrowing HeaderBlock,
        token: ProviderToken?
    ) throws(HTTP2Error) {
        let stream = try self.session.request(fields, copying: call.operation.body)
        self.requests.append(ChannelRequest(call: call, stream: stream, token: token, sentFrom: self.sentTo))
        self.key = self.key ?? token?.key
        self.state = .open(idleSince: nil)
    }

    /// Writes frames until about `limit` bytes; returns whether there were any.
    mutating func write(into buffer: inout ByteBuffer, atMost limit: Int) -> Bool {
        self.session.write(into: &buffer, atMost: limit)
    }

    /// Notes that TLS has taken the written bytes, and where the stream of bytes below it ends now.
    mutating func flushed(at end: UInt64) { self.sentTo = end }

    mutating func receive(_ bytes: ByteBuffer) throws(HTTP2Error) {
        try bytes.withUnsafeReadableBytes { (bytes) throws(HTTP2Error) in try self.session.receive(bytes) }
    }

    // MARK: Events

    enum Event {
        /// The peer answered a request, or a part of an answer came before its stream ended.
        case answered(ChannelRequest, ChannelAnswer)
        /// "The stream was refused before any application processing" (RFC 9113, section 7), or the request ended before
        /// it was written completely.
        case notProcessed(ChannelRequest)
        /// The peer reset a request that it may have processed.
        case reset(ChannelRequest, HTTP2ErrorCode)
        case goAway(GoAway)
    }

    /// Returns the next event in order; nil when all were read.
    mutating func nextEvent(now: NIODeadline) -> Event? {
        while let event = self.session.nextEvent() {
            switch event {
            case .settings(let limit):
                self.allowed = limit
            case .ended(let stream):
                guard let event = self.over(stream, 0, now: now) else { continue }
                // The rest of the body would be useless: the peer has answered already.
                if !self.session.isSent(stream) {
                    self.session.reset(stream, errorCode: HTTP2ErrorCode.cancel.rawValue)
                }
                return event
            case .closed(let stream, let errorCode):
                if let event = self.over(stream, errorCode, now: now) { return event }
            case .goAway(let lastStreamID, let errorCode, let debugData):
                self.leave(owesGoAway: false)
                return .goAway(
                    debugData.withUnsafeBufferPointer {
                        GoAway(
                            lastStreamID: lastStreamID,
                            errorCode: HTTP2ErrorCode(rawValue: errorCode),
                            debugData: $0
                        )
                    }
                )
            case .headers, .pingAnswered:
                continue
            }
        }
        return nil
    }

    private mutating func over(_ stream: HTTP2Session.Stream, _ errorCode: UInt32, now: NIODeadline) -> Event? {
        guard let request = self.remove(stream, now: now) else { return nil }
        self.hasAnswered = true
        if let answer = self.answer(to: request) { return .answered(request, answer) }
        let isRefused = errorCode == HTTP2ErrorCode.refusedStream.rawValue
        guard !isRefused, self.session.isSent(stream) else { return .notProcessed(request) }
        return .reset(request, HTTP2ErrorCode(rawValue: errorCode))
    }

    private mutating func remove(_ stream: HTTP2Session.Stream, now: NIODeadline) -> ChannelRequest? {
        guard let place = self.requests.firstIndex(where: { $0.stream == stream }) else { return nil }
        let request = self.requests.remove(at: place)
        if self.requests.isEmpty, self.isOpen { self.state = .open(idleSince: now) }
        return request
    }

    private func answer(to request: ChannelRequest) -> ChannelAnswer? {
        ChannelAnswer(to: request.call.operation, self.session, request.stream)
    }

    // MARK: Requests without an end

    /// The state of a request whose stream did not end.
    enum Fate {
        case answered(ChannelAnswer)
        /// The peer cannot have processed it.
        case notProcessed
        /// Nothing says whether the peer processed it.
        case unknown
    }

    /// Removes and returns the first request for which `isWanted` holds, and resets its stream.
    ///
    /// - Parameter handed: the number of bytes that the system took of the stream below TLS. Nil while the connection
    ///   exists: the rest may still leave.
    mutating func take(
        handed: UInt64?,
        now: NIODeadline,
        where isWanted: (ChannelRequest) -> Bool
    ) -> (request: ChannelRequest, fate: Fate)? {
        guard let wanted = self.requests.first(where: isWanted), let request = self.remove(wanted.stream, now: now)
        else { return nil }
        let fate = self.fate(of: request, handed: handed)
        self.session.reset(request.stream, errorCode: HTTP2ErrorCode.cancel.rawValue)
        return (request, fate)
    }

    private func fate(of request: ChannelRequest, handed: UInt64?) -> Fate {
        if let answer = self.answer(to: request) { return .answered(answer) }
        let mayHaveLeft = handed.map { $0 >= request.sentFrom } ?? true
        let isSent = self.session.isSent(request.stream) && self.session.hasBegun(request.stream)
        return mayHaveLeft && isSent ? .unknown : .notProcessed
    }

    /// Removes and returns the first request whose answer is already longer than the limit, and resets its stream.
    mutating func takeTooLong(now: NIODeadline) -> (request: ChannelRequest, fate: Fate)? {
        guard let long = self.requests.first(where: { self.session.isBodyTruncated($0.stream) }) else { return nil }
        return self.take(handed: nil, now: now) { $0.stream == long.stream }
    }

    // MARK: Leaving

    /// Stops new requests from now on.
    ///
    /// - Parameter owesGoAway: whether the client must send a GOAWAY. After the peer's own GOAWAY it need not.
    mutating func leave(owesGoAway: Bool) {
        if self.isOpen { self.state = .leaving(owesGoAway: owesGoAway) }
    }

    /// Ends the connection if it is to be left and nothing is under way. Returns whether the owner must finish it now.
    mutating func finishIfDone(until: NIODeadline) -> Bool {
        guard case .leaving(let owesGoAway) = self.state, self.requests.isEmpty else { return false }
        if owesGoAway {
            self.session.goAway()
            self.state = .leaving(owesGoAway: false)
        }
        guard !self.session.wantsToWrite else { return false }
        self.state = .finished(until: until)
        return true
    }
}
