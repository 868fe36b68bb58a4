import FerryHTTP2
import NIOCore

/// A client and a server that talk to each other in memory.
final class SessionPair {
    var client: HTTP2Session
    var server: HTTP2Session
    /// The number of bytes that are carried at a time.
    var step = Int.max
    private var block = HeaderBlock()

    init(
        client: HTTP2Session.Settings = HTTP2Session.Settings(),
        server: HTTP2Session.Settings = HTTP2Session.Settings()
    ) throws {
        self.client = try HTTP2Session(role: .client, settings: client)
        self.server = try HTTP2Session(role: .server, settings: server)
    }

    /// Carries each side's bytes to the other once; returns whether there were any.
    @discardableResult
    func exchange(atMost limit: Int = .max) throws -> Bool {
        let toServer = try self.carry(from: &self.client, to: &self.server, limit)
        let toClient = try self.carry(from: &self.server, to: &self.client, limit)
        return toServer || toClient
    }

    private func carry(
        from: inout HTTP2Session,
        to: inout HTTP2Session,
        _ limit: Int
    ) throws -> Bool {
        var bytes = ByteBuffer()
        guard from.write(into: &bytes, atMost: limit) else { return false }
        while let part = bytes.readSlice(length: min(self.step, bytes.readableBytes)), part.readableBytes > 0 {
            try part.withUnsafeReadableBytes { try to.receive($0) }
        }
        return true
    }

    /// Sends a request whose body stays valid for as long as `body` does.
    func request(
        _ body: UnsafeBufferPointer<UInt8>,
        path: StaticString = "/3/device/00ff"
    ) throws -> HTTP2Session.Stream {
        self.block.clear()
        self.block.append(":method", "POST")
        self.block.append(":scheme", "https")
        self.block.append(":path", path)
        self.block.append(":authority", "localhost")
        return try self.client.request(self.block, body: body)
    }

    func respond(to stream: HTTP2Session.Stream, status: UInt64 = 200, body: [UInt8] = []) throws {
        self.block.clear()
        self.block.append(":status", status)
        self.block.append("apns-id", "eabeae54-14a8-11e5-b60b-1697f925ec7b", .literal)
        try self.server.respond(to: stream, self.block, body: body)
    }

    func clientEvents() -> [HTTP2Session.Event] {
        var events: [HTTP2Session.Event] = []
        while let event = self.client.nextEvent() { events.append(event) }
        return events
    }

    func serverEvents() -> [HTTP2Session.Event] {
        var events: [HTTP2Session.Event] = []
        while let event = self.server.nextEvent() { events.append(event) }
        return events
    }
}
