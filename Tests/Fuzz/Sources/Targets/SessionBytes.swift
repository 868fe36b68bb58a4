@testable import FerryHTTP2
import NIOCore

/// The property: for any bytes in any pieces, a session of either role reports the end of each stream once, and reports
/// no later event of a closed stream.
func fuzzSessionBytes(_ input: inout FuzzInput) {
    let isServer = input.byte() & 1 == 0
    let requests = input.number(0...7)
    let (_, pieces) = input.pieces()
    do {
        let body = [UInt8]("{}".utf8)
        try body.withUnsafeBufferPointer { body in
            var reader = try Reader(isServer: isServer)
            try reader.begin(requests: requests, body: body)
            for piece in pieces { reader.receive(piece) }
            reader.end()
        }
    } catch {
        fatalError("\(error)")
    }
}

/// A session, and the streams that it has reported as closed.
private struct Reader: ~Copyable {
    private static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)
    private var session: HTTP2Session
    private var block = HeaderBlock()
    private var closed: Set<HTTP2Session.Stream> = []
    private let isServer: Bool
    private var isOver = false

    init(isServer: Bool) throws {
        self.isServer = isServer
        self.session = try HTTP2Session(role: isServer ? .server : .client)
    }

    /// Receives the peer's first bytes. A client then makes its requests.
    mutating func begin(requests: Int, body: UnsafeBufferPointer<UInt8>) throws {
        // The server's SETTINGS allow 1000 streams.
        let settings: [UInt8] = [0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 3, 0, 0, 3, 232]
        self.receive(ByteBuffer(bytes: self.isServer ? Self.preface + [0, 0, 0, 4, 0, 0, 0, 0, 0] : settings))
        guard !self.isServer else { return }
        for _ in 0..<requests {
            self.block.clear()
            self.block.append(":method", "POST")
            self.block.append(":scheme", "https")
            self.block.append(":path", "/3/device/00")
            self.block.append(":authority", "localhost")
            _ = try self.session.request(self.block, body: body)
        }
        self.write()
    }

    mutating func receive(_ bytes: ByteBuffer) {
        guard !self.isOver else { return }
        do {
            try bytes.withUnsafeReadableBytes { try self.session.receive($0) }
        } catch {
            self.isOver = true
        }
        self.read()
        self.write()
    }

    private mutating func write() {
        var buffer = ByteBuffer()
        while self.session.write(into: &buffer, atMost: 4096) { buffer.clear() }
        self.read()
    }

    private mutating func read() {
        while let event = self.session.nextEvent() {
            switch event {
            case .headers(let stream, _), .ended(let stream):
                require(!self.closed.contains(stream), "an event of a stream that is closed")
                require(self.session.streamID(of: stream) > 0, "a stream without a number")
                self.look(at: stream)
                if self.isServer, case .ended = event { self.respond(to: stream) }
            case .closed(let stream, _):
                require(self.closed.insert(stream).inserted, "closed twice")
                self.look(at: stream)
            case .goAway(_, _, let debugData): require(debugData.count <= 8192)
            case .settings(let limit): require(limit >= 0)
            case .pingAnswered: break
            }
        }
        require(self.session.openCount >= 0)
    }

    private func look(at stream: HTTP2Session.Stream) {
        var bytes = 0
        self.session.forEachField(of: stream) { bytes += $0.count + $1.count }
        require(bytes <= 16 << 10, "too many fields")
        self.session.withBody(of: stream) { require($0.count <= 8192, "too long a body") }
        if let answer = self.session.answer(of: stream), !self.isServer {
            require(answer.status.rawValue >= 200, "an informational answer")
        }
    }

    private mutating func respond(to stream: HTTP2Session.Stream) {
        self.block.clear()
        self.block.append(":status", 200 as UInt64)
        do { try self.session.respond(to: stream, self.block, body: [1, 2, 3]) } catch {}
    }

    mutating func end() {
        self.session.goAway()
        self.write()
        guard self.session.isOver else { return }
        require(self.session.takesRequests == false, "over, and takes requests")
    }
}
