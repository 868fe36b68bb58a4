internal import NIOCore
internal import NIOHTTP1

/// One HTTP/1.1 connection of a server, without I/O: one request after the other, each with a bound for its body.
///
/// ```
///                head                 end                  answered
///   waiting ───────────▶ receiving ────────▶ answering ──────────────▶ waiting, or closing
///                           │                                              ▲
///                           └── too large, too slow ───────────────────────┘
/// ```
///
/// After the answer to a request that is too large or too slow, the rest of the request is read and dropped. If the
/// socket were closed with unread bytes, the client might not see the answer.
struct HTTPExchange {
    enum Action: Equatable {
        case none
        /// Ask the client for the body (`Expect: 100-continue`; RFC 9110, section 10.1.1).
        case askForBody
        /// Make the answer, and call ``answered()``.
        case handle
        /// Send this status. If `closes` is true, the answer is the last one of the connection.
        case answer(status: Int, closes: Bool)
        case close
    }

    private enum State {
        case waiting
        case receiving(HTTPRequestHead, ByteBuffer)
        case answering(HTTPServerRequest, keepsAlive: Bool)
        /// The last answer was sent. Later bytes are dropped.
        case closing
    }

    private let bodyLimit: Int
    private var state = State.waiting
    private var isEnding = false

    init(bodyLimit: Int) { self.bodyLimit = bodyLimit }

    /// The request that waits for its answer; nil if no whole request waits.
    var request: HTTPServerRequest? { if case .answering(let request, _) = self.state { request } else { nil } }

    /// The bytes of the body that are held. Dropped bytes do not count.
    var heldBytes: Int {
        switch self.state {
        case .receiving(_, let body): body.readableBytes
        case .answering(let request, _): request.body.count
        case .waiting, .closing: 0
        }
    }

    mutating func received(_ head: HTTPRequestHead) -> Action {
        guard case .waiting = self.state else { return .none }
        let length = head.headers.first(name: "content-length").flatMap(Int.init) ?? 0
        guard length <= self.bodyLimit else { return self.refuse(413) }
        self.state = .receiving(head, ByteBuffer())
        return head.headers.first(name: "expect")?.lowercased() == "100-continue" ? .askForBody : .none
    }

    mutating func received(_ bytes: ByteBuffer) -> Action {
        guard case .receiving(let head, var body) = self.state else { return .none }
        guard body.readableBytes + bytes.readableBytes <= self.bodyLimit else { return self.refuse(413) }
        // The state first gives up its reference to the body. Otherwise the write would copy the body.
        self.state = .closing
        body.writeImmutableBuffer(bytes)
        self.state = .receiving(head, body)
        return .none
    }

    mutating func receivedEnd() -> Action {
        guard case .receiving(let head, let body) = self.state else { return .none }
        let request = HTTPServerRequest(
            method: head.method.rawValue,
            target: head.uri,
            headers: head.headers,
            body: Array(body.readableBytesView)
        )
        self.state = .answering(request, keepsAlive: head.isKeepAlive)
        return .handle
    }

    /// Notes that the answer to ``request`` is known.
    mutating func answered(_ status: Int) -> Action {
        guard case .answering(_, let keepsAlive) = self.state else { return .none }
        let closes = self.isEnding || !keepsAlive
        self.state = closes ? .closing : .waiting
        return .answer(status: status, closes: closes)
    }

    /// Notes that the time limit of the present state is over.
    mutating func timedOut() -> Action {
        switch self.state {
        case .waiting, .closing: .close
        case .receiving: self.refuse(408)
        case .answering: .none
        }
    }

    /// Notes that the server stops, or that the client has ended its side. The request under way becomes the last one.
    mutating func end() -> Action {
        self.isEnding = true
        switch self.state {
        case .waiting, .closing: return .close
        case .receiving, .answering: return .none
        }
    }

    private mutating func refuse(_ status: Int) -> Action {
        self.state = .closing
        return .answer(status: status, closes: true)
    }
}
