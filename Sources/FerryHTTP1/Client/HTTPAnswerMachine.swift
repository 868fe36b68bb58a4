internal import NIOCore
internal import NIOHTTP1

/// The answer to one request, without I/O.
///
/// ```
///             head                end
///   waiting ────────▶ receiving ────────▶ ended
///      │                  │                 ▲
///      └──────────────────┴── end of the ───┘
///                             connection, or too long
/// ```
struct HTTPAnswerMachine {
    enum Action {
        case wait
        /// The answer is complete. If `keepsConnection` is true, the connection can take another request.
        case answer(HTTPClientResponse, keepsConnection: Bool)
        /// There is no answer. Close the connection.
        case fail(HTTPFault)
    }

    private enum State {
        case waiting
        case receiving(HTTPResponseHead)
        case ended
    }

    private let limit: Int?
    private let hasBody: Bool
    private let needsBody: Bool
    private var state = State.waiting
    private var body: [UInt8] = []

    /// - Parameters:
    ///   - limit: the largest body, in bytes. Nil: a body of any length, whose bytes are dropped.
    ///   - hasBody: false for `HEAD`, whose `Content-Length` announces a body that does not come.
    ///   - needsBody: whether an answer counts only with its whole body.
    init(limit: Int?, hasBody: Bool = true, needsBody: Bool = true) {
        self.limit = limit
        self.hasBody = hasBody
        self.needsBody = needsBody
    }

    /// The progress of the answer, for a time-out.
    var stage: HTTPFault.Stage { if case .waiting = self.state { .waiting } else { .receiving } }

    mutating func received(_ part: HTTPClientResponsePart) -> Action {
        switch (self.state, part) {
        case (.waiting, .head(let head)):
            let length = head.headers.first(name: "Content-Length").flatMap { Int($0) }
            self.state = .receiving(head)
            if let limit = self.limit, self.hasBody, length ?? 0 > limit { return self.cut(.tooLong(limit: limit)) }
            return .wait
        case (.receiving, .body(let bytes)):
            guard let limit = self.limit else { return .wait }
            guard self.body.count + bytes.readableBytes <= limit else { return self.cut(.tooLong(limit: limit)) }
            self.body += bytes.readableBytesView
            return .wait
        case (.receiving(let head), .end):
            self.state = .ended
            return .answer(self.response(head, self.body), keepsConnection: head.isKeepAlive)
        case (.ended, _):
            return .wait
        case (.waiting, _), (.receiving, .head):
            return self.fail(.malformed)
        }
    }

    /// Notes that the connection ended. If the answer has not begun, the request fails with `fault`.
    mutating func ended(_ fault: HTTPFault) -> Action {
        switch self.state {
        case .waiting: self.fail(fault)
        case .receiving: self.cut(.cut)
        case .ended: .wait
        }
    }

    /// Ends an answer whose body is too long or cut. The answer then counts without its body, or fails with `fault`.
    private mutating func cut(_ fault: HTTPFault) -> Action {
        guard !self.needsBody, case .receiving(let head) = self.state else { return self.fail(fault) }
        self.state = .ended
        return .answer(self.response(head, []), keepsConnection: false)
    }

    private func response(_ head: HTTPResponseHead, _ body: [UInt8]) -> HTTPClientResponse {
        HTTPClientResponse(status: Int(head.status.code), headers: head.headers, body: body, version: head.version)
    }

    private mutating func fail(_ fault: HTTPFault) -> Action {
        self.state = .ended
        return .fail(fault)
    }
}
