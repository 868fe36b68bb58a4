internal import FerryCore
internal import FerryHTTP2
internal import FerryMachine
internal import FerryTesting
internal import NIOCore
internal import Testing

struct APNsMachineTests {
    @Test func `one stream is allowed until a request with a provider token was accepted`() throws {
        let key = try TestCredentials().providerTokenKey
        let rehearsal = try APNsRehearsal(HTTP2Script(), keys: [key])
        #expect(rehearsal.limits == [1])
        _ = try rehearsal.ask()
        #expect(rehearsal.limits == [1])
        let authorization = try key.authorization(at: rehearsal.now.epochSeconds)
        #expect(try rehearsal.ask(fields: [("authorization", authorization)])?.status == 200)
        #expect(rehearsal.limits == [1, 1000])
        var script = HTTP2Script()
        script.coldStart = false
        script.maxConcurrentStreams = 7
        #expect(try APNsRehearsal(script).limits == [7])
    }

    @Test func `the machine announces the limit of streams, and a client can keep to it`() throws {
        var script = HTTP2Script.withoutTokens()
        script.maxConcurrentStreams = 2
        script.answerDelay = .seconds(1)
        let rehearsal = try APNsRehearsal(script)
        let streams = try (0..<5).map { _ in try rehearsal.send() }
        // The client's session holds requests above the limit back.
        try rehearsal.exchange()
        for _ in 0..<3 { try rehearsal.advance(by: .seconds(1)) }
        #expect(streams.map { rehearsal.told[$0]?.status } == [200, 200, 200, 200, 200])
        #expect(rehearsal.counts.violations == 0)
    }

    @Test func `the machine answers late on request, and accepts a request when its answer is due`() throws {
        var script = HTTP2Script.withoutTokens()
        script.answerDelay = .seconds(1)
        let rehearsal = try APNsRehearsal(script)
        let first = try rehearsal.send()
        try rehearsal.exchange()
        try rehearsal.advance(by: .milliseconds(500))
        let second = try rehearsal.send()
        try rehearsal.exchange()
        #expect(rehearsal.memory.requests.isEmpty)
        try rehearsal.advance(by: .milliseconds(500))
        #expect(rehearsal.told[first]?.status == 200)
        #expect(rehearsal.told[second] == nil)
        try rehearsal.advance(by: .milliseconds(500))
        #expect(rehearsal.told[second]?.status == 200)
        #expect(rehearsal.memory.requests.count == 2)
    }

    @Test func `a request that the client withdrew before its answer is not accepted`() throws {
        var script = HTTP2Script.withoutTokens()
        script.answerDelay = .seconds(1)
        let rehearsal = try APNsRehearsal(script)
        try rehearsal.send()
        try rehearsal.exchange()
        rehearsal.takeBack()
        try rehearsal.exchange()
        let other = try rehearsal.send()
        try rehearsal.exchange()
        try rehearsal.advance(by: .seconds(2))
        #expect(rehearsal.told[other]?.status == 200)
        #expect(rehearsal.memory.requests.count == 1)
    }

    @Test(arguments: [true, false])
    func `GOAWAY keeps exactly the streams that it names, and ends the connection`(closes: Bool) throws {
        let rule = HTTP2Rule(after: 2, action: .goAway, reason: .shutdown, closes: closes)
        let rehearsal = try APNsRehearsal(.withoutTokens(rule))
        let streams = try (0..<4).map { _ in try rehearsal.send() }
        try rehearsal.exchange()
        #expect(streams.map { rehearsal.told[$0]?.status } == [200, 200, 200, 200])
        #expect(rehearsal.goAways.map(\.last) == [streams[3]])
        #expect(rehearsal.goAways.map(\.errorCode) == [0])
        #expect(rehearsal.goAways.map(\.debugData) == [#"{"reason":"Shutdown"}"#])
        #expect(rehearsal.isOver == closes)
        #expect(rehearsal.counts.goAways == 1)
    }

    @Test func `GOAWAY with the current stream as the last does not touch the ones above it`() throws {
        let rules = [
            HTTP2Rule(after: 2, action: .goAway, lastStream: .current),
            HTTP2Rule(at: 2, action: .goAway, lastStream: .current),
        ]
        for rule in rules {
            let rehearsal = try APNsRehearsal(.withoutTokens(rule))
            let streams = try (0..<4).map { _ in try rehearsal.send() }
            try rehearsal.exchange()
            #expect(streams.map { rehearsal.told[$0]?.status } == [200, 200, nil, nil])
            #expect(rehearsal.told[streams[3]]?.errorCode == HTTP2ErrorCode.refusedStream.rawValue)
            #expect(rehearsal.goAways.map(\.last) == [streams[1]])
            #expect(rehearsal.memory.requests.count == 2)
            #expect(rehearsal.isOver)
        }
    }

    @Test func `GOAWAY without a stream means that no unanswered request was processed`() throws {
        let rehearsal = try APNsRehearsal(.withoutTokens(HTTP2Rule(at: 3, action: .goAway, lastStream: .none)))
        let streams = try (0..<4).map { _ in try rehearsal.send() }
        try rehearsal.exchange()
        // The answers to accepted requests are sent before the GOAWAY.
        #expect(streams.map { rehearsal.told[$0]?.status } == [200, 200, nil, nil])
        #expect(rehearsal.told[streams[2]]?.errorCode == HTTP2ErrorCode.refusedStream.rawValue)
        #expect(rehearsal.goAways.map(\.last) == [0])
        #expect(rehearsal.memory.requests.count == 2)
        #expect(rehearsal.isOver)
    }

    @Test func `GOAWAY drops or answers the requests in its answer delay, as the script says`() throws {
        for last in [HTTP2Rule.LastStream.none, .all] {
            var script = HTTP2Script.withoutTokens(HTTP2Rule(at: 1, action: .goAway, lastStream: last))
            script.answerDelay = .seconds(1)
            let rehearsal = try APNsRehearsal(script)
            let streams = try (0..<3).map { _ in try rehearsal.send() }
            try rehearsal.exchange()
            try rehearsal.advance(by: .seconds(1))
            let isKept = last == .all
            #expect(streams.map { rehearsal.told[$0]?.status } == Array(repeating: isKept ? 200 : nil, count: 3))
            #expect(rehearsal.memory.requests.count == (isKept ? 3 : 0))
            #expect(rehearsal.isOver)
        }
    }

    @Test func `a GOAWAY after every few requests loses nothing and doubles nothing, whatever it keeps`() throws {
        for last in [HTTP2Rule.LastStream.none, .current, .all] {
            let rules = HTTP2Rules(.withoutTokens(.goAway(every: 10, lastStream: last)))
            var open = (0..<95).map { self.format($0) }
            var accepted: [[UInt8]] = []
            while !open.isEmpty {
                let rehearsal = try APNsRehearsal(rules: rules)
                var streams: [Int32: String] = [:]
                for token in open { streams[try rehearsal.send(token: token)] = token }
                try rehearsal.exchange()
                accepted += rehearsal.memory.requests.map(\.token.bytes)
                let settled = Set(streams.filter { rehearsal.told[$0.key]?.status == 200 }.values)
                #expect(settled.count == rehearsal.memory.requests.count)
                open.removeAll { settled.contains($0) }
            }
            #expect(accepted.count == 95)
            #expect(Set(accepted).count == 95)
        }
    }

    private func format(_ number: UInt16) -> String {
        DeviceToken(unchecked: [UInt8(number >> 8), UInt8(number & 255)]).hex
    }

    @Test(arguments: [15, 0])
    func `a used window is opened little by little, and then as a whole`(piece: Int) throws {
        let rule = HTTP2Rule(after: 0, action: .slowWindow, windowBytes: piece, hold: .seconds(3))
        let rehearsal = try APNsRehearsal(.withoutTokens(rule))
        // 546 bodies of 120 bytes leave 15 of the window's 65,535 bytes.
        let body = String(repeating: "x", count: 120)
        let streams = try (0..<900).map { _ in try rehearsal.send(body: body) }
        try rehearsal.exchange()
        if piece == 0 {
            #expect(rehearsal.memory.requests.count == 546)
            try rehearsal.advance(by: .seconds(3))
        }
        #expect(streams.allSatisfy { rehearsal.told[$0]?.status == 200 })
        #expect(rehearsal.memory.requests.count == 900)
    }

    @Test func `the machine ends with a GOAWAY when the client breaks the protocol`() throws {
        var machine = try APNsMachine(rules: HTTP2Rules(.withoutTokens()))
        let now = Moment(monotonic: .uptimeNanoseconds(1), epochSeconds: 1)
        _ = machine.received(ByteBuffer(string: "GET / HTTP/1.1\r\n\r\n"), at: now)
        var bytes = ByteBuffer()
        while machine.write(into: &bytes, atMost: .max) {}
        let (isOver, violations) = (machine.isOver, machine.counts.violations)
        #expect(isOver)
        #expect(violations == 1)
        let actions = machine.received(ByteBuffer(string: "x"), at: now)
        #expect(actions.isEmpty)
    }

    @Test func `the machine finds the same requests wherever the bytes are cut`() throws {
        var client = try HTTP2Session(role: .client)
        var block = HeaderBlock()
        block.append(":method", "POST")
        block.append(":scheme", "https")
        block.append(":path", "/3/device/00ff")
        block.append(":authority", "localhost")
        block.append("apns-topic", "com.example.ferry")
        let body = Array("{}".utf8)
        try body.withUnsafeBufferPointer { body in
            _ = try client.request(block, body: body)
            var bytes = ByteBuffer()
            while client.write(into: &bytes, atMost: .max) {}
            let whole = Array(bytes.readableBytesView)
            let now = Moment(monotonic: .uptimeNanoseconds(1), epochSeconds: 1)
            for step in [1, 2, 7, whole.count] {
                let memory = APNsMemoryRecorder()
                var machine = try APNsMachine(rules: HTTP2Rules(.withoutTokens()), recorder: memory)
                for start in stride(from: 0, to: whole.count, by: step) {
                    let piece = whole[start..<min(start + step, whole.count)]
                    _ = machine.received(ByteBuffer(bytes: piece), at: now)
                }
                #expect(memory.requests.map(\.token.bytes) == [[0, 255]])
                let accepted = machine.counts.accepted
                #expect(accepted == 1)
            }
        }
    }

    @Test(
        arguments: [false, true]
    )
    func `a stream over the limit is refused, and the connection ends if the client knows the limit`(isKnown: Bool)
        throws
    {
        var script = HTTP2Script.withoutTokens()
        script.maxConcurrentStreams = 1
        var machine = try APNsMachine(rules: HTTP2Rules(script))
        var bytes = ByteBuffer()
        // The machine must write its SETTINGS before the client can acknowledge them.
        _ = machine.write(into: &bytes, atMost: .max)
        let acknowledgement = isKnown ? Self.frame(type: 4, flags: 1, stream: 0, []) : []
        let requests = ([1, 3, 5] as [UInt8]).flatMap { Self.request(stream: $0) }
        let opening = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + Self.frame(type: 4, stream: 0, [])
        let now = Moment(monotonic: .uptimeNanoseconds(1), epochSeconds: 1)
        _ = machine.received(ByteBuffer(bytes: opening + acknowledgement + requests), at: now)
        while machine.write(into: &bytes, atMost: .max) {}
        let counts = machine.counts
        #expect(counts.accepted == 1)
        #expect(counts.violations == (isKnown ? 1 : 0))
    }

    /// Builds a frame by hand, because Ferry's own client never breaks the limit.
    private static func frame(type: UInt8, flags: UInt8 = 0, stream: UInt8, _ payload: [UInt8]) -> [UInt8] {
        [0, 0, UInt8(payload.count), type, flags, 0, 0, 0, stream] + payload
    }

    /// Builds HEADERS with literal fields, and DATA.
    private static func request(stream: UInt8) -> [UInt8] {
        let fields = [(":path", "/3/device/00ff"), (":authority", "localhost"), ("apns-topic", "com.example.ferry")]
        // ":method: POST" and ":scheme: https" (RFC 7541, appendix A).
        var block: [UInt8] = [0x83, 0x87]
        for (name, value) in fields {
            block += [0, UInt8(name.utf8.count)]
            block += Array(name.utf8)
            block += [UInt8(value.utf8.count)]
            block += Array(value.utf8)
        }
        return Self.frame(type: 1, flags: 4, stream: stream, block)
            + Self.frame(type: 0, flags: 1, stream: stream, Array("{}".utf8))
    }

    @Test func `the machine ends when the client has ended`() throws {
        let rehearsal = try APNsRehearsal()
        #expect(!rehearsal.isOver)
        rehearsal.machine.inputClosed()
        #expect(rehearsal.isOver)
    }
}
