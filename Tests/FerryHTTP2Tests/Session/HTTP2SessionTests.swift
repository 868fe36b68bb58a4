import NIOCore
import Testing

@testable import FerryHTTP2

struct HTTP2SessionTests {
    private static let payload = Array(#"{"aps":{"alert":"Hello"}}"#.utf8)

    /// Calls `body` with bytes at an address that does not change.
    private func withBody<R>(
        _ bytes: [UInt8] = Self.payload,
        _ body: (UnsafeBufferPointer<UInt8>) throws -> R
    ) rethrows -> R {
        try bytes.withUnsafeBufferPointer(body)
    }

    private func fields(_ session: borrowing HTTP2Session, _ stream: HTTP2Session.Stream) -> [String: String] {
        var fields: [String: String] = [:]
        session.forEachField(of: stream) { name, value in
            fields[String(decoding: name, as: UTF8.self)] = String(decoding: value, as: UTF8.self)
        }
        return fields
    }

    @Test(arguments: [1, 7, Int.max])
    func `a request arrives whole and its answer comes back`(step: Int) throws {
        let pair = try SessionPair()
        pair.step = step
        try self.withBody { body in
            let stream = try pair.request(body)
            try pair.exchange()
            var isWhole = false
            while let event = pair.server.nextEvent() {
                guard case .ended(let request) = event else { continue }
                isWhole = true
                let path = self.fields(pair.server, request)[":path"]
                #expect(path == "/3/device/00ff")
                let body = pair.server.withBody(of: request) { Array($0) }
                #expect(body == Self.payload)
                try pair.respond(to: request, status: 400, body: Array(#"{"reason":"BadTopic"}"#.utf8))
            }
            #expect(isWhole)
            try pair.exchange()
            var isAnswered = false
            while let event = pair.client.nextEvent() {
                guard case .closed(let closed, let errorCode) = event else { continue }
                isAnswered = true
                #expect(closed == stream)
                #expect(errorCode == 0)
                let isEnded = pair.client.isEnded(closed)
                #expect(isEnded)
                let status = self.fields(pair.client, closed)[":status"]
                #expect(status == "400")
                let answer = pair.client.withBody(of: closed) { String(decoding: $0, as: UTF8.self) }
                #expect(answer.contains("BadTopic"))
            }
            #expect(isAnswered)
            let openCount = pair.client.openCount
            #expect(openCount == 0)
        }
    }

    @Test func `a client makes one request at a time until it has seen SETTINGS`() throws {
        let pair = try SessionPair()
        try self.withBody { body in
            _ = try pair.request(body)
            _ = try pair.request(body)
            var bytes = ByteBuffer()
            _ = pair.client.write(into: &bytes, atMost: .max)
            try bytes.withUnsafeReadableBytes { try pair.server.receive($0) }
            let ended = pair.serverEvents().filter { if case .ended = $0 { true } else { false } }
            #expect(ended.count == 1)
        }
    }

    @Test func `a window with 15 bytes left stalls no request`() throws {
        var server = HTTP2Session.Settings()
        server.maxConcurrentStreams = 1000
        server.updatesWindows = false
        let pair = try SessionPair(server: server)
        try pair.exchange()
        // 65,535 bytes are 546 bodies of 120 bytes, and 15 bytes more.
        let payload = [UInt8](repeating: 0x20, count: 120)
        try self.withBody(payload) { body in
            for _ in 0..<600 { _ = try pair.request(body) }
            var whole = 0
            var answered = 0
            while answered < 600 {
                let isMoving = try pair.exchange()
                while let event = pair.server.nextEvent() {
                    guard case .ended(let request) = event else { continue }
                    whole += 1
                    let length = pair.server.withBody(of: request) { $0.count }
                    #expect(length == 120)
                    try pair.respond(to: request)
                }
                for case .closed(_, 0) in pair.clientEvents() { answered += 1 }
                if !isMoving {
                    #expect(whole >= 546)
                    pair.server.consume(7)
                }
            }
            #expect(whole == 600)
        }
    }

    @Test func `GOAWAY closes the streams above the last processed one`() throws {
        var server = HTTP2Session.Settings()
        server.maxConcurrentStreams = 10
        let pair = try SessionPair(server: server)
        try pair.exchange()
        try self.withBody { body in
            let streams = try (0..<4).map { _ in try pair.request(body) }
            try pair.exchange()
            _ = pair.serverEvents()
            pair.server.goAway(lastStreamID: 3, debugData: Array(#"{"reason":"Shutdown"}"#.utf8))
            try pair.exchange()
            var refused: [HTTP2Session.Stream] = []
            var debugData: [UInt8] = []
            for event in pair.clientEvents() {
                switch event {
                case .closed(let stream, 7): refused.append(stream)
                case .goAway(3, 0, let data): debugData = data
                default: break
                }
            }
            #expect(Set(refused) == Set(streams[2...]))
            #expect(String(decoding: debugData, as: UTF8.self).contains("Shutdown"))
            #expect(throws: HTTP2Error.self) { _ = try pair.request(body) }
        }
    }

    @Test func `an answer that comes before the end of the request counts`() throws {
        var server = HTTP2Session.Settings()
        server.initialWindowSize = 10
        server.updatesWindows = false
        let pair = try SessionPair(server: server)
        try pair.exchange()
        try self.withBody { body in
            _ = try pair.request(body)
            try pair.exchange()
            while let event = pair.server.nextEvent() {
                if case .headers(let request, isLast: false) = event { try pair.respond(to: request, status: 413) }
            }
            try pair.exchange()
            var early = 0
            while let event = pair.client.nextEvent() {
                guard case .ended(let stream) = event else { continue }
                early += 1
                let status = self.fields(pair.client, stream)[":status"]
                #expect(status == "413")
            }
            #expect(early == 1)
        }
    }

    @Test func `a reset does not count as an answer`() throws {
        let pair = try SessionPair()
        try pair.exchange()
        try self.withBody { body in
            let stream = try pair.request(body)
            try pair.exchange()
            for case .ended(let request) in pair.serverEvents() { pair.server.reset(request, errorCode: 7) }
            try pair.exchange()
            var closed: [UInt32] = []
            while let event = pair.client.nextEvent() {
                guard case .closed(stream, let errorCode) = event else { continue }
                closed.append(errorCode)
                let isEnded = pair.client.isEnded(stream)
                #expect(!isEnded)
            }
            #expect(closed == [7])
        }
    }

    @Test func `SETTINGS are reported each time, and PING is answered`() throws {
        var server = HTTP2Session.Settings()
        server.maxConcurrentStreams = 1
        let pair = try SessionPair(server: server)
        try pair.exchange()
        pair.server.update(maxConcurrentStreams: 1000)
        pair.client.ping()
        try pair.exchange()
        try pair.exchange()
        var limits: [Int] = []
        var isPingAnswered = false
        for event in pair.clientEvents() {
            switch event {
            case .settings(let limit): limits.append(limit)
            case .pingAnswered: isPingAnswered = true
            default: break
            }
        }
        #expect(limits == [1, 1000])
        #expect(isPingAnswered)
    }

    @Test func `bytes that are not HTTP/2 are an error, and the session says so to its peer`() throws {
        let pair = try SessionPair()
        try Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8).withUnsafeBytes { try pair.client.receive($0) }
        var bytes = ByteBuffer()
        let writes = pair.client.write(into: &bytes, atMost: .max)
        #expect(writes)
        let isViolated = pair.client.isViolated
        #expect(isViolated)
    }

    @Test func `a slot is used again, and an old handle does not reach the new stream`() throws {
        let pair = try SessionPair()
        try pair.exchange()
        try self.withBody { body in
            var handles: Set<HTTP2Session.Stream> = []
            for _ in 0..<100 {
                let stream = try pair.request(body)
                for handle in handles {
                    let streamID = pair.client.streamID(of: handle)
                    #expect(streamID == 0)
                }
                handles.insert(stream)
                try pair.exchange()
                for case .ended(let request) in pair.serverEvents() { try pair.respond(to: request) }
                try pair.exchange()
                _ = pair.clientEvents()
            }
            #expect(handles.count == 100)
            #expect(Set(handles.map(\.index)).count == 1)
        }
    }
}
