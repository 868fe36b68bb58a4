internal import FerryCore
internal import FerryHTTP2
internal import FerryMachine
internal import FerryOpenSSL
internal import FerryTesting
internal import NIOCore

/// The answer to one request of a client.
struct Told: Hashable {
    var status: Int?
    var reason: String?
    var fields: [String: String] = [:]
    var body = ""
    /// The error code of RST_STREAM; 0 if the stream was not reset. REFUSED_STREAM if a GOAWAY said that the request
    /// was not processed.
    var errorCode: UInt32 = 0
}

/// A client's session and the machine of a simulated APNs, connected in memory, with simulated time.
final class APNsRehearsal {
    typealias Field = (name: StaticString, value: String)

    static let topic = "com.example.ferry"

    var client: HTTP2Session
    var machine: APNsMachine
    let memory = APNsMemoryRecorder()
    private(set) var now = Moment(monotonic: .uptimeNanoseconds(1), epochSeconds: 1_700_000_000)
    /// The actions of the machine, without the wake-ups.
    private(set) var actions: [APNsAction] = []
    private(set) var wakes: [NIODeadline] = []
    var counts: APNsMachine.Counts { self.machine.counts }
    var isOver: Bool { self.machine.isOver }
    /// The answers, by stream.
    private(set) var told: [Int32: Told] = [:]
    private(set) var goAways: [(last: Int32, errorCode: UInt32, debugData: String)] = []
    private(set) var limits: [Int] = []
    private var streams: [HTTP2Session.Stream: Int32] = [:]
    private var bodies: [UnsafeMutableBufferPointer<UInt8>] = []
    private var block = HeaderBlock()

    init(
        _ script: HTTP2Script = .withoutTokens(),
        certificateTopics: [String]? = nil,
        keys: [ProviderTokenVerifier.Key] = [],
        rules: HTTP2Rules? = nil
    ) throws {
        self.client = try HTTP2Session(role: .client)
        self.machine = try APNsMachine(
            rules: rules ?? HTTP2Rules(script),
            connection: 3,
            certificateTopics: certificateTopics,
            keys: keys,
            recorder: self.memory
        )
        self.note(self.machine.opened(at: self.now))
        try self.exchange()
    }

    deinit {
        for body in self.bodies { body.deallocate() }
    }

    /// Makes a request and returns its stream. The fields replace those of a valid request; `nil` removes a field.
    @discardableResult
    func send(
        token: String = "00ff",
        method: String = "POST",
        path: String? = nil,
        topic: String? = APNsRehearsal.topic,
        fields: [Field] = [],
        body: String = #"{"aps":{}}"#
    ) throws -> Int32 {
        self.block.clear()
        self.append(":method", method)
        self.append(":scheme", "https")
        self.append(":path", path ?? "/3/device/\(token)")
        self.append(":authority", "localhost")
        if let topic { self.append("apns-topic", topic) }
        for (name, value) in fields { self.append(name, value) }
        let bytes = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: max(body.utf8.count, 1))
        let (_, end) = bytes.initialize(from: body.utf8)
        self.bodies.append(bytes)
        let source = UnsafeBufferPointer(start: bytes.baseAddress, count: end)
        let stream = try self.client.request(self.block, body: source)
        let streamID = self.client.streamID(of: stream)
        self.streams[stream] = streamID
        return streamID
    }

    private func append(_ name: StaticString, _ value: String) {
        self.block.append(name, upTo: value.utf8.count) { target in
            for (index, byte) in value.utf8.enumerated() { target[index] = byte }
            return value.utf8.count
        }
    }

    /// Sends a request and returns the answer.
    func ask(
        token: String = "00ff",
        method: String = "POST",
        path: String? = nil,
        topic: String? = APNsRehearsal.topic,
        fields: [Field] = [],
        body: String = #"{"aps":{}}"#
    ) throws -> Told? {
        let stream = try self.send(
            token: token,
            method: method,
            path: path,
            topic: topic,
            fields: fields,
            body: body
        )
        try self.exchange()
        return self.told[stream]
    }

    /// Cancels all requests without an answer.
    func takeBack() {
        for stream in self.streams.keys { self.client.reset(stream, errorCode: HTTP2ErrorCode.cancel.rawValue) }
    }

    /// Carries bytes in both directions until neither side has more.
    func exchange() throws {
        while try self.carry() {}
    }

    private func carry() throws -> Bool {
        var bytes = ByteBuffer()
        let hasSent = self.client.write(into: &bytes, atMost: .max)
        if hasSent { self.note(self.machine.received(bytes, at: self.now)) }
        bytes.clear()
        let hasReceived = self.machine.write(into: &bytes, atMost: .max)
        // Throws if the client's session is broken. The session's last bytes have reached the machine above.
        try bytes.withUnsafeReadableBytes { try self.client.receive($0) }
        self.readEvents()
        return hasSent || hasReceived
    }

    /// Advances the time, and wakes the machine at the requested times.
    func advance(by amount: TimeAmount) throws {
        let end = self.now.monotonic + amount
        while let next = self.wakes.filter({ $0 <= end }).min() {
            self.wakes.removeAll { $0 == next }
            self.now.monotonic = max(self.now.monotonic, next)
            self.note(self.machine.timePassed(at: self.now))
            try self.exchange()
        }
        self.now.monotonic = end
    }

    func set(epochSeconds: UInt32) { self.now.epochSeconds = epochSeconds }

    private func note(_ actions: [APNsAction]) {
        for action in actions {
            if case .wake(let time) = action { self.wakes.append(time) } else { self.actions.append(action) }
        }
    }

    private func readEvents() {
        while let event = self.client.nextEvent() {
            switch event {
            case .settings(let limit): self.limits.append(limit)
            case .goAway(let last, let errorCode, let debugData):
                self.goAways.append((last, errorCode, String(decoding: debugData, as: UTF8.self)))
            case .closed(let stream, let errorCode): self.close(stream, errorCode)
            default: break
            }
        }
    }

    private func close(_ stream: HTTP2Session.Stream, _ errorCode: UInt32) {
        guard let streamID = self.streams.removeValue(forKey: stream) else { return }
        var told = Told(errorCode: errorCode)
        self.client.forEachField(of: stream) { name, value in
            told.fields[String(decoding: name, as: UTF8.self)] = String(decoding: value, as: UTF8.self)
        }
        told.status = told.fields[":status"].flatMap { Int($0) }
        told.body = self.client.withBody(of: stream) { String(decoding: $0, as: UTF8.self) }
        told.reason = told.body.split(separator: "\"").dropFirst(3).first.map(String.init)
        self.told[streamID] = told
    }
}

extension HTTP2Script {
    /// Returns a script by which no request needs a provider token.
    static func withoutTokens(_ rules: HTTP2Rule...) -> HTTP2Script {
        var script = HTTP2Script(rules: rules)
        script.requiresToken = false
        return script
    }
}

extension ProviderTokenVerifier.Key {
    /// Returns the value of `authorization` with a token of that time.
    func authorization(at time: UInt32, keyID: String? = nil) throws -> String {
        let header = #"{"alg":"ES256","kid":"\#(keyID ?? self.keyID)"}"#
        let claims = #"{"iss":"\#(self.teamID)","iat":\#(time)}"#
        let signed = [header, claims].map { String(decoding: Base64URL.encode(Array($0.utf8)), as: UTF8.self) }
            .joined(separator: ".")
        let signature = try self.key.sign(Array(signed.utf8))
        return "bearer \(signed).\(String(decoding: Base64URL.encode(signature), as: UTF8.self))"
    }
}
