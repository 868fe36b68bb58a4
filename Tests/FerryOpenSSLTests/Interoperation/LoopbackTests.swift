import FerryOpenSSL
import NIOCore
import Testing

struct LoopbackTests {
    let ca: ThrowAwayCA

    init() throws {
        ca = try ThrowAwayCA()
    }

    @Test(arguments: TLSVersion.allCases)
    func `megabytes arrive whole and end cleanly`(version: TLSVersion) throws {
        let server = try TLSContext(server: .init(identity: ca.server(key: .rsa2048), profile: .legacy))
        let client = try TLSContext(client: .init(trustRoots: ca.trustRoots, versions: version...version))
        let (listener, received) = try Loopback.listen(server)
        defer { listener.close(promise: nil) }
        let port = try #require(listener.localAddress?.port)
        let pieces = (0..<64).map { index in
            ByteBuffer(repeating: UInt8(index), count: index % 3 == 0 ? 100 : 65_536 + index)
        }
        let (_, sent) = try Loopback.connect(client, port: port) { channel in
            for (index, piece) in pieces.enumerated() {
                channel.write(piece, promise: nil)
                if index % 2 == 0 { channel.flush() }
            }
            channel.flush()
            channel.close(promise: nil)
        }
        #expect(try sent.wait().errors == [])
        let expected = pieces.reduce(into: ByteBuffer()) { $0.writeImmutableBuffer($1) }
        let gathered = try received.wait()
        #expect(gathered.text == expected)
        #expect(gathered.isClosedByPeer)
        #expect(gathered.errors == [])
    }

    @Test func `six bytes and a half close reach a client that is still sending`() throws {
        let server = try TLSContext(server: .init(identity: ca.server(), maximum: .tls12))
        let client = try TLSContext(client: .init(trustRoots: ca.trustRoots))
        let (listener, atServer) = try Loopback.listen(server, allowsHalfClosure: true) { bytes, channel in
            guard channel.isWritable else { return }
            channel.writeAndFlush(ByteBuffer(bytes: [8, 8, 0, 0, 0, 1])).whenSuccess {
                channel.close(mode: .output, promise: nil)
            }
        }
        defer { listener.close(promise: nil) }
        let port = try #require(listener.localAddress?.port)
        let (channel, atClient) = try Loopback.connect(client, port: port)
        for _ in 0..<18 { channel.writeAndFlush(ByteBuffer(repeating: 1, count: 50_000), promise: nil) }
        let gathered = try atClient.wait()
        #expect(gathered.text.readableBytesView.prefix(6) == ByteBuffer(bytes: [8, 8, 0, 0, 0, 1]).readableBytesView)
        #expect(gathered.errors == [])
        #expect(try atServer.wait().errors == [])
    }

    @Test(
        arguments: [
            TLSVersion.tls12, .tls13,
        ]
    )
    func `a client whose certificate is refused learns it while it is still sending`(version: TLSVersion) throws {
        let server = try TLSContext(
            server: .init(identity: ca.server(), clientCertificates: .required(ca.trustRoots))
        )
        let client = try TLSContext(client: .init(trustRoots: ca.trustRoots, versions: version...version))
        for _ in 0..<5 {
            let (listener, atServer) = try Loopback.listen(server)
            defer { listener.close(promise: nil) }
            let port = try #require(listener.localAddress?.port)
            let (channel, atClient) = try Loopback.connect(client, port: port)
            for _ in 0..<8 { channel.writeAndFlush(ByteBuffer(repeating: 1, count: 9_000), promise: nil) }
            #expect(try atClient.wait().errors == [.certificateRejected])
            #expect(try atServer.wait().errors == [.peerCertificateMissing])
        }
    }
}
