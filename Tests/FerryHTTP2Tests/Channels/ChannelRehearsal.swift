import FerryCore
import FerryHTTP2
import FerryMachine
import NIOCore
import Testing

/// A ``ChannelClient`` and the servers of its connections, connected in memory, with simulated time.
final class ChannelRehearsal {
    /// A request as the server got it.
    struct Request {
        var connection: Int
        var stream: HTTP2Session.Stream
        var fields: [String: String]
        var body: String
    }

    static let channel: ChannelID = {
        guard let id = ChannelID(rawValue: "dHN0LXNyY2gtY2hubA==") else { preconditionFailure("no channel id") }
        return id
    }()
    static let operations: [ChannelOperation] = [.create(.noMessageStored), .read(channel), .delete(channel), .list]

    static func changes(_ operation: ChannelOperation) -> Bool {
        switch operation {
        case .create, .delete: true
        case .read, .list: false
        }
    }

    private(set) var machine: ChannelClient
    private(set) var now = NIODeadline.uptimeNanoseconds(1)
    /// How long the computer has slept.
    private var slept = TimeAmount.zero
    private var moment: Moment { Moment(monotonic: self.now, epochSeconds: 0, boot: self.now + self.slept) }
    private(set) var requests: [Request] = []
    private(set) var results: [UInt64: Result<ChannelResult, ChannelManagerError>] = [:]
    private(set) var refusals: [Reason] = []
    /// The number of dials.
    private(set) var dials = 0
    private(set) var finished: [ConnectionID] = []
    private(set) var closed: [ConnectionID] = []
    /// The number of bytes of an answer that are carried at a time.
    var step = Int.max
    /// Whether dials wait for ``connect()``.
    var isHeld = false
    /// The settings of the servers.
    var settings = HTTP2Session.Settings()
    private var servers: [Server] = []
    private var calls: UInt64 = 0
    private var token = ProviderToken(generation: 1, headerValue: Array("bearer t1".utf8))
    private var isTokenHeld = false
    /// Whether the token is on its way.
    var isTokenAwaited = false
    private var block = HeaderBlock()

    private final class Server {
        let id: ConnectionID
        var session: HTTP2Session
        var isConnected = false
        var written: UInt64 = 0

        init(_ id: ConnectionID, _ settings: HTTP2Session.Settings) throws {
            self.id = id
            self.session = try HTTP2Session(role: .server, settings: settings)
        }
    }

    init(usesTokens: Bool = true, listLimit: Int = 4 << 20, deadline: Duration = .seconds(30)) {
        self.machine = ChannelClient(
            authority: "localhost:2196",
            peer: "localhost:2196",
            bundleID: "com.example.ferry",
            usesTokens: usesTokens,
            deadline: deadline,
            listLimit: listLimit
        )
    }

    var isFinished: Bool { self.machine.isFinished }
    /// Whether a connection exists.
    var hasServer: Bool { self.servers.contains(where: \.isConnected) }
    var nextDeadline: NIODeadline? { self.machine.nextDeadline }

    // MARK: The caller

    @discardableResult
    func submit(_ operation: ChannelOperation, requestID: APNSID = .random()) -> UInt64 {
        self.calls += 1
        self.machine.submit(operation, call: self.calls, requestID: requestID, now: self.moment)
        self.settle()
        return self.calls
    }

    func cancel(_ call: UInt64) {
        self.machine.cancel(call, now: self.moment)
        self.settle()
    }

    func shutDown() {
        self.machine.shutDown(now: self.moment)
        self.settle()
    }

    func abandon(handed: UInt64 = .max) {
        self.machine.abandon(handed: { _ in handed }, now: self.moment)
        self.settle()
    }

    func pass(_ time: TimeAmount) throws {
        self.passBlocked(time)
        try self.exchange()
    }

    /// Lets time pass while no bytes are carried.
    func passBlocked(_ time: TimeAmount) {
        self.now = self.now + time
        self.machine.tick(now: self.moment)
        self.settle()
    }

    func sleep(_ time: TimeAmount) { self.slept = self.slept + time }

    /// The error of the last call.
    func failure(_ call: UInt64? = nil) throws -> ChannelManagerError {
        guard case .failure(let error) = try #require(self.results[call ?? self.calls]) else {
            throw Unexpected(self.results)
        }
        return error
    }

    /// The result of the last call.
    func success(_ call: UInt64? = nil) throws -> ChannelResult {
        try #require(self.results[call ?? self.calls]).get()
    }

    struct Unexpected: Error {
        var results: [UInt64: Result<ChannelResult, ChannelManagerError>]
        init(_ results: [UInt64: Result<ChannelResult, ChannelManagerError>]) { self.results = results }
    }

    // MARK: Tokens

    func renewToken(key: UInt64? = nil) {
        let number = self.token.generation + 1
        self.token = ProviderToken(
            generation: number,
            key: key ?? self.token.key,
            headerValue: Array("bearer t\(number)".utf8)
        )
    }

    func holdToken() { self.isTokenHeld = true }

    // MARK: Connections

    private func settle() {
        var steps = self.machine.takeSteps()
        while !steps.isEmpty {
            for step in steps {
                switch step {
                case .dial(let id):
                    self.dials += 1
                    if let server = try? Server(id, self.settings) { self.servers.append(server) }
                    if !self.isHeld { self.connect() }
                case .close(let id):
                    self.closed.append(id)
                    self.servers.removeAll { $0.id == id }
                case .finish(let id): self.finished.append(id)
                case .refused(let reason, _): self.refusals.append(reason)
                case .sample: break
                }
            }
            steps = self.machine.takeSteps()
        }
        for settled in self.machine.takeSettled() {
            #expect(self.results[settled.call] == nil, "a call has one result")
            self.results[settled.call] = settled.result
        }
    }

    func connect() {
        for server in self.servers where !server.isConnected {
            server.isConnected = true
            self.machine.connected(server.id, now: self.moment)
        }
        self.settle()
    }

    func refuse(_ error: ProviderError) {
        guard let server = self.servers.popLast() else { return }
        self.machine.ended(server.id, .notConnected(error), handed: 0, now: self.moment)
        self.settle()
    }

    /// Ends the connection of the last server.
    func end(_ end: ConnectionEnd = .endOfStream, handed: UInt64 = .max) throws {
        let server = try #require(self.servers.last)
        self.servers.removeLast()
        self.machine.ended(server.id, end, handed: handed, now: self.moment)
        self.settle()
    }

    /// Ends the connection that the machine has finished.
    func endFinished() {
        for id in self.finished {
            self.servers.removeAll { $0.id == id }
            self.machine.ended(id, .endOfStream, handed: .max, now: self.moment)
        }
        self.settle()
    }

    /// Carries bytes in both directions until there are none.
    func exchange() throws {
        self.settle()
        var dials = -1
        while dials != self.dials {
            dials = self.dials
            while try self.carry() {}
        }
    }

    /// Lets the machine write, and drops the bytes: the server gets nothing.
    func writeInVain() {
        for server in self.servers where server.isConnected {
            var bytes = ByteBuffer()
            self.authorize()
            while self.machine.write(server.id, into: &bytes, atMost: 16 << 10, now: self.moment) {
                server.written += UInt64(bytes.readableBytes)
                self.machine.flushed(server.id, at: server.written)
            }
        }
        self.settle()
    }

    private func authorize() {
        guard self.machine.needsAuthorization else { return }
        let authorization: Authorization =
            if self.isTokenAwaited {
                .awaited(until: self.now + .milliseconds(20))
            } else {
                self.isTokenHeld ? .held(until: self.now + .minutes(20)) : .token(self.token)
            }
        self.machine.authorized(authorization, failure: nil, now: self.moment)
    }

    private func carry() throws -> Bool {
        var isBusy = false
        for server in self.servers where server.isConnected {
            self.authorize()
            var bytes = ByteBuffer()
            if self.machine.write(server.id, into: &bytes, atMost: 16 << 10, now: self.moment) {
                isBusy = true
                server.written += UInt64(bytes.readableBytes)
                self.machine.flushed(server.id, at: server.written)
                try bytes.withUnsafeReadableBytes { try server.session.receive($0) }
            }
            self.read(server)
            bytes.clear()
            if server.session.write(into: &bytes, atMost: 16 << 10) {
                isBusy = true
                while let part = bytes.readSlice(length: min(self.step, bytes.readableBytes)), part.readableBytes > 0 {
                    self.machine.received(server.id, part, now: self.moment)
                }
            }
            self.settle()
        }
        return isBusy
    }

    private func read(_ server: Server) {
        while let event = server.session.nextEvent() {
            guard case .ended(let stream) = event else { continue }
            var request = Request(connection: self.dials, stream: stream, fields: [:], body: "")
            server.session.forEachField(of: stream) { name, value in
                request.fields[String(decoding: name, as: UTF8.self)] = String(decoding: value, as: UTF8.self)
            }
            request.body = server.session.withBody(of: stream) { String(decoding: $0, as: UTF8.self) }
            self.requests.append(request)
        }
    }

    // MARK: The server's answers

    private func last() throws -> (server: Server, stream: HTTP2Session.Stream) {
        (try #require(self.servers.last), try #require(self.requests.last).stream)
    }

    private func fill(_ status: Int, _ fields: [(StaticString, String)]) {
        self.block.clear()
        self.block.append(":status", UInt64(status))
        for (name, value) in fields {
            let bytes = Array(value.utf8)
            self.block.append(name, upTo: bytes.count, .literal) { target in
                target.update(from: bytes, count: bytes.count)
                return bytes.count
            }
        }
    }

    /// Answers the last request.
    func answer(status: Int, _ fields: [(StaticString, String)] = [], body: String = "") throws {
        let (server, stream) = try self.last()
        self.fill(status, fields)
        try server.session.respond(to: stream, self.block, body: Array(body.utf8))
        try self.exchange()
    }

    /// Sends the fields of an answer to the last request, without its end.
    func begin(status: Int, _ fields: [(StaticString, String)] = []) throws {
        let (server, stream) = try self.last()
        self.fill(status, fields)
        try server.session.beginResponse(to: stream, self.block)
        try self.exchange()
    }

    func reset(_ errorCode: HTTP2ErrorCode) throws {
        let (server, stream) = try self.last()
        server.session.reset(stream, errorCode: errorCode.rawValue)
        try self.exchange()
    }

    func goAway(lastStreamID: Int32?, _ errorCode: HTTP2ErrorCode = .noError) throws {
        let server = try #require(self.servers.last)
        server.session.goAway(lastStreamID: lastStreamID, errorCode: errorCode.rawValue)
        try self.exchange()
    }

    /// Sends raw bytes to the machine.
    func send(_ bytes: [UInt8]) throws {
        let server = try #require(self.servers.last)
        self.machine.received(server.id, ByteBuffer(bytes: bytes), now: self.moment)
        self.settle()
        self.writeInVain()
    }
}
