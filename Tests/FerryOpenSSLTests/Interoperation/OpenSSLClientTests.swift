import FerryOpenSSL
import NIOCore
import Testing

struct OpenSSLClientTests {
    let ca: ThrowAwayCA
    let directory: TemporaryDirectory

    init() throws {
        ca = try ThrowAwayCA()
        directory = try TemporaryDirectory()
    }

    static func option(_ version: TLSVersion) -> String {
        switch version {
        case .tls10: "-tls1"
        case .tls11: "-tls1_1"
        case .tls12: "-tls1_2"
        case .tls13: "-tls1_3"
        }
    }

    private func client(port: Int, _ options: [String] = []) throws -> RunningTool {
        let authority = try directory.write("ca.pem", ca.certificatePEM)
        return try RunningTool(
            ["s_client", "-connect", "127.0.0.1:\(port)", "-CAfile", authority, "-verify_return_error"]
                + ["-verify_hostname", "localhost", "-nocommands", "-quiet", "-no_ign_eof"] + options
        )
    }

    @Test(arguments: TLSVersion.allCases)
    func `s_client verifies us, talks, and closes cleanly, in every version`(version: TLSVersion) throws {
        let context = try TLSContext(server: .init(identity: ca.server(key: .rsa2048), profile: .legacy))
        let (listener, result) = try Loopback.listen(context) { bytes, channel in
            channel.writeAndFlush(ByteBuffer(string: "you said \(String(buffer: bytes))"), promise: nil)
        }
        defer { listener.close(promise: nil) }
        let port = try #require(listener.localAddress?.port)
        let client = try client(port: port, [Self.option(version), "-cipher", "DEFAULT@SECLEVEL=0"])
        try client.write("hello\n")
        try client.wait { $0.contains("you said hello") }
        _ = try client.waitForExit()
        let gathered = try result.wait()
        #expect(String(buffer: gathered.text) == "hello\n")
        #expect(gathered.version == version)
        #expect(gathered.isClosedByPeer)
        #expect(gathered.errors == [])
    }

    @Test(arguments: [TLSVersion.tls12, .tls13])
    func `s_client shows its certificate, and selects its protocol`(version: TLSVersion) throws {
        let identity = try ca.client(topic: "com.example.app", key: .rsa2048)
        let context = try TLSContext(
            server: .init(
                identity: ca.server(),
                clientCertificates: .required(ca.trustRoots),
                applicationProtocols: ["h2"]
            )
        )
        let (listener, result) = try Loopback.listen(context) { bytes, channel in
            channel.writeAndFlush(bytes, promise: nil)
        }
        defer { listener.close(promise: nil) }
        let port = try #require(listener.localAddress?.port)
        let certificate = try directory.write("client.pem", identity.certificateChainPEM)
        let key = try directory.write("client.key", identity.privateKeyPEM())
        let client = try client(
            port: port,
            [Self.option(version), "-cert", certificate, "-key", key, "-alpn", "http/1.1,h2"]
        )
        try client.write("ping\n")
        try client.wait { $0.contains("ping") }
        _ = try client.waitForExit()
        let gathered = try result.wait()
        #expect(gathered.peer == identity.summary)
        #expect(gathered.handshakes == ["h2"])
    }

    @Test(arguments: [TLSVersion.tls12, .tls13])
    func `s_client without its certificate reads our alert`(version: TLSVersion) throws {
        let context = try TLSContext(
            server: .init(identity: ca.server(), clientCertificates: .required(ca.trustRoots))
        )
        let (listener, result) = try Loopback.listen(context)
        defer { listener.close(promise: nil) }
        let port = try #require(listener.localAddress?.port)
        let client = try client(port: port, [Self.option(version)])
        try client.wait { $0.contains("alert") }
        let gathered = try result.wait()
        #expect(gathered.errors == [.peerCertificateMissing])
    }

    @Test func `s_client is asked for a certificate with an empty list of authorities`() throws {
        let context = try TLSContext(
            server: .init(identity: ca.server(), clientCertificates: .requested)
        )
        let (listener, _) = try Loopback.listen(context)
        defer { listener.close(promise: nil) }
        let port = try #require(listener.localAddress?.port)
        let client = try RunningTool(["s_client", "-connect", "127.0.0.1:\(port)", "-tls1_2"])
        let (_, output) = try client.waitForExit()
        #expect(output.contains("No client certificate CA names sent"))
        #expect(output.contains("Client Certificate Types"))
        #expect(output.contains("Secure Renegotiation IS supported"))
        #expect(output.contains("Compression: NONE"))
        #expect(!output.contains("TLS session ticket:"))
    }

    @Test func `an answer and a half close reach s_client behind all that it still sends`() throws {
        let context = try TLSContext(server: .init(identity: ca.server(), maximum: .tls12))
        let (listener, result) = try Loopback.listen(context, allowsHalfClosure: true) { bytes, channel in
            channel.writeAndFlush(ByteBuffer(string: "answer"), promise: nil)
            channel.close(mode: .output, promise: nil)
        }
        defer { listener.close(promise: nil) }
        let port = try #require(listener.localAddress?.port)
        let client = try client(port: port)
        try client.write("question\n")
        try client.wait { $0.contains("answer") }
        let (status, _) = try client.waitForExit()
        #expect(status == 0)
        #expect(try result.wait().errors == [])
    }
}
