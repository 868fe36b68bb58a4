import FerryOpenSSL
import NIOCore
import Testing

struct EngineTests {
    let ca: ThrowAwayCA

    init() throws {
        ca = try ThrowAwayCA()
    }

    private func pair(
        versions: ClosedRange<TLSVersion> = .tls12 ... .tls13,
        pieceLength: Int? = nil
    ) throws -> EnginePair {
        let client = try TLSContext(client: .init(trustRoots: ca.trustRoots, versions: versions))
        let server = try TLSContext(
            server: .init(
                identity: ca.server(),
                profile: versions.lowerBound < .tls12 ? .legacy : .modern,
                maximum: versions.upperBound
            )
        )
        return try EnginePair(client: client, server: server, pieceLength: pieceLength)
    }

    @Test(arguments: TLSVersion.allCases)
    func `every version from TLS 1.0 to 1.3 carries data both ways`(version: TLSVersion) throws {
        var pair = try pair(versions: version...version)
        pair.run()
        #expect(pair.clientLog.failures.map(\.code) == [])
        #expect(pair.client.version == version)
        #expect(pair.server.version == version)
        try pair.client.encrypt(ByteBuffer(string: "to the server"))
        try pair.server.encrypt(ByteBuffer(string: "to the client"))
        pair.run()
        #expect(String(buffer: pair.serverLog.plaintext) == "to the server")
        #expect(String(buffer: pair.clientLog.plaintext) == "to the client")
        pair.client.closeNotify()
        pair.server.closeNotify()
        pair.run()
        #expect(pair.serverLog.peerClosed == 1)
        #expect(pair.clientLog.peerClosed == 1)
    }

    @Test(arguments: TLSVersion.allCases)
    func `bytes that arrive one at a time, or cut at any length, give the same result`(version: TLSVersion) throws {
        for length in [1, 2, 3, 4, 5, 6, 7, 64, 1_000] {
            var pair = try pair(versions: version...version, pieceLength: length)
            pair.run()
            try pair.client.encrypt(ByteBuffer(repeating: 7, count: 20_000))
            pair.client.closeNotify()
            pair.run()
            #expect(pair.serverLog.plaintext == ByteBuffer(repeating: 7, count: 20_000))
            #expect(pair.serverLog.order.last == "closed")
            #expect(pair.serverLog.failures.isEmpty)
        }
    }

    @Test func `a burst of megabytes comes out whole, in one buffer for each ingested one`() throws {
        var pair = try pair()
        pair.run()
        var sent = ByteBuffer()
        for index in 0..<(3 << 18) { sent.writeInteger(UInt32(truncatingIfNeeded: index &* 2_654_435_761)) }
        try pair.client.encrypt(sent)
        pair.run()
        #expect(pair.serverLog.plaintext == sent)
        #expect(pair.serverLog.plaintextEvents == 1)
    }

    @Test func `data arrives before the close that is in the same piece`() throws {
        var pair = try pair()
        pair.run()
        try pair.client.encrypt(ByteBuffer(string: "last words"))
        pair.client.closeNotify()
        pair.run()
        #expect(pair.serverLog.order == ["handshake", "plaintext", "closed"])
    }

    @Test func `data before a damaged record is delivered before the failure`() throws {
        var pair = try pair()
        pair.run()
        try pair.client.encrypt(ByteBuffer(string: "good"))
        let good = try pair.client.output()
        try pair.client.encrypt(ByteBuffer(string: "bad"))
        var bad = try pair.client.output()
        let last = bad.writerIndex - 1
        let byte = try #require(bad.getInteger(at: last, as: UInt8.self))
        bad.setInteger(byte ^ 1, at: last)
        pair.server.ingest(good)
        pair.server.ingest(bad)
        pair.run()
        #expect(pair.serverLog.order == ["handshake", "plaintext", "failed"])
        #expect(pair.serverLog.failures.map(\.code) == [.protocolViolation])
        #expect(String(buffer: pair.serverLog.plaintext) == "good")
        #expect(pair.clientLog.failures.map(\.alert) == ["bad record mac"])
    }

    @Test func `a failed engine reports the failure once and then stays silent`() throws {
        var pair = try pair()
        pair.server.ingest(ByteBuffer(string: "GET / HTTP/1.1\r\n\r\n"))
        while let event = pair.server.step() { pair.serverLog.note(event) }
        pair.server.ingest(ByteBuffer(string: "again"))
        pair.server.closeNotify()
        let event = pair.server.step()
        #expect(event == nil)
        #expect(throws: TLSError.self) { try pair.server.encrypt(ByteBuffer(string: "x")) }
        #expect(pair.serverLog.failures.map(\.code) == [.notTLS])
    }

    @Test func `a close_notify inside the handshake is its end, not a clean close`() throws {
        var pair = try pair(versions: .tls12 ... .tls12)
        while let event = pair.client.step() { pair.clientLog.note(event) }
        pair.client.ingest(ByteBuffer(bytes: [21, 3, 3, 0, 2, 1, 0]))
        while let event = pair.client.step() { pair.clientLog.note(event) }
        #expect(pair.clientLog.failures.map(\.code) == [.endOfStreamInHandshake])
    }

    @Test func `random bytes at any point of the stream end in an error, never in a crash`() throws {
        var generator = SplitMix(state: 1)
        for round in 0..<300 {
            var pair = try pair(versions: round % 2 == 0 ? .tls12 ... .tls12 : .tls13 ... .tls13)
            if round % 3 != 0 { pair.run() }
            let handshakeType: UInt8 = round % 5 == 0 ? 22 : 23
            var noise = ByteBuffer(bytes: round % 4 == 0 ? [] : [handshakeType, 3, 3, 0, 40])
            for _ in 0..<64 { noise.writeInteger(UInt8.random(in: 0...255, using: &generator)) }
            pair.server.ingest(noise)
            pair.client.ingest(noise)
            pair.run()
            #expect(pair.serverLog.failures.count <= 1)
            #expect(pair.clientLog.failures.count <= 1)
            #expect(pair.serverLog.plaintext.readableBytes == 0)
        }
    }

    @Test func `the results of the handshake can be read`() throws {
        var pair = try pair(versions: .tls13 ... .tls13)
        #expect(pair.client.version == nil)
        #expect(pair.client.cipherSuite == nil)
        pair.run()
        #expect(pair.client.cipherSuite?.hasPrefix("TLS_") == true)
        #expect(pair.client.serverCertificates.map(\.dnsNames) == [["localhost"]])
        #expect(pair.client.peerCertificate == pair.client.serverCertificates.first)
        #expect(pair.server.serverCertificates == [])
    }

    @Test func `a buffer is not encrypted before the handshake or after close_notify, nor if it is empty`() throws {
        var pair = try pair()
        #expect(throws: TLSError.self) { try pair.client.encrypt(ByteBuffer(string: "early")) }
        pair.client.closeNotify()
        pair.run()
        #expect(pair.clientLog.order == ["handshake"])
        let produced = pair.client.ciphertextBytesProduced
        try pair.client.encrypt(ByteBuffer())
        #expect(pair.client.ciphertextBytesProduced == produced)
        pair.client.closeNotify()
        #expect(throws: TLSError.self) { try pair.client.encrypt(ByteBuffer(string: "late")) }
    }

    @Test func `a side that has closed its output still receives`() throws {
        var pair = try pair()
        pair.run()
        pair.client.closeNotify()
        pair.run()
        try pair.server.encrypt(ByteBuffer(string: "answer"))
        pair.run()
        #expect(String(buffer: pair.clientLog.plaintext) == "answer")
        #expect(pair.serverLog.order == ["handshake", "closed"])
    }

    @Test func `the count of produced ciphertext equals the bytes that were taken`() throws {
        var pair = try pair()
        var taken = 0
        while let event = pair.client.step() { pair.clientLog.note(event) }
        taken += pair.client.takeCiphertext()?.readableBytes ?? 0
        #expect(pair.client.ciphertextBytesProduced == UInt64(taken))
        #expect(taken > 0)
    }

    @Test func `a burst of megabytes leaves no buffer behind`() throws {
        let client = try TLSContext(client: .init(trustRoots: ca.trustRoots))
        let server = try TLSContext(server: .init(identity: ca.server()))
        let burst = ByteBuffer(repeating: 1, count: 8 << 20)
        let before = residentBytes()
        func connectionAfterBurst() throws -> Kept {
            var pair = try EnginePair(client: client, server: server)
            pair.run()
            try pair.client.encrypt(burst)
            pair.run()
            pair.serverLog.plaintext = ByteBuffer()
            return Kept(pair)
        }
        let kept = try (0..<40).map { _ in try connectionAfterBurst() }
        // Without the release of memory, each connection would hold 8 MiB on each side.
        #expect(residentBytes() - before < 200 << 20)
        withExtendedLifetime(kept) {}
    }

    @Test func `ten thousand connections leave no memory behind`() throws {
        let client = try TLSContext(client: .init(trustRoots: ca.trustRoots))
        let server = try TLSContext(server: .init(identity: ca.server()))
        func connect(_ count: Int) throws {
            for _ in 0..<count {
                var pair = try EnginePair(client: client, server: server)
                _ = pair.client.step()
                if let hello = pair.client.takeCiphertext() { pair.server.ingest(hello) }
            }
        }
        try connect(1_000)
        let before = residentBytes()
        try connect(10_000)
        // A leak would need about 400 MiB. The limit leaves room for concurrent tests or a sanitizer.
        #expect(residentBytes() - before < 200 << 20)
    }
}
