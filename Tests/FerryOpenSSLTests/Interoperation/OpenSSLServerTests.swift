import FerryOpenSSL
import NIOCore
import Testing

@Suite("Our client and openssl s_server")
struct OpenSSLServerTests {
    let ca: ThrowAwayCA
    let directory: TemporaryDirectory

    init() throws {
        ca = try ThrowAwayCA()
        directory = try TemporaryDirectory()
    }

    /// Starts `s_server`, which answers each line with the reverse of it, on a port that it chooses.
    private func start(
        _ identity: TLSIdentity,
        _ options: [String] = []
    ) throws -> (server: RunningTool, port: Int) {
        let certificate = try directory.write("server.pem", identity.certificateChainPEM)
        let key = try directory.write("server.key", identity.privateKeyPEM())
        let server = try RunningTool(
            ["s_server", "-accept", "127.0.0.1:0", "-cert", certificate, "-key", key, "-rev"] + options
        )
        var port: Int?
        try server.wait { text in
            guard let line = text.split(separator: "\n").first(where: { $0.hasPrefix("ACCEPT") }) else { return false }
            port = line.split(separator: ":").last.flatMap { Int($0) }
            return port != nil
        }
        return (server, try #require(port))
    }

    /// Sends a line; closes when the answer is there.
    private func ask(_ context: TLSContext, port: Int, serverName: String = "localhost") throws -> Gatherer.Result {
        let (channel, result) = try Loopback.connect(
            context,
            port: port,
            serverName: serverName,
            reply: { _, channel in channel.close(promise: nil) }
        )
        channel.writeAndFlush(ByteBuffer(string: "abc\n"), promise: nil)
        return try result.wait()
    }

    @Test("We verify it and talk, in every version", arguments: TLSVersion.allCases)
    func talks(version: TLSVersion) throws {
        let (server, port) = try start(ca.server(key: .rsa2048), ["-cipher", "ALL@SECLEVEL=0"])
        defer { withExtendedLifetime(server) {} }
        let context = try TLSContext(client: .init(trustRoots: ca.trustRoots, versions: version...version))
        for name in ["localhost", "127.0.0.1"] {
            let gathered = try ask(context, port: port, serverName: name)
            #expect(String(buffer: gathered.text) == "cba\n")
            #expect(gathered.version == version)
            #expect(gathered.errors == [])
        }
    }

    @Test("It sees our certificate, and we see its protocol", arguments: [TLSVersion.tls12, .tls13])
    func clientCertificate(version: TLSVersion) throws {
        let authority = try directory.write("ca.pem", ca.certificatePEM)
        let (server, port) = try start(
            ca.server(),
            ["-Verify", "1", "-verify_return_error", "-CAfile", authority, "-alpn", "h2"]
        )
        let context = try TLSContext(
            client: .init(
                trustRoots: .file(authority),
                identity: ca.client(topic: "com.example.app"),
                versions: version...version,
                applicationProtocols: ["h2"]
            )
        )
        let gathered = try ask(context, port: port)
        #expect(gathered.handshakes == ["h2"])
        #expect(String(buffer: gathered.text) == "cba\n")
        try server.wait { $0.contains("UID = com.example.app") }
    }

    @Test("Without our certificate the error says that it was rejected", arguments: [TLSVersion.tls12, .tls13])
    func rejected(version: TLSVersion) throws {
        let authority = try directory.write("ca.pem", ca.certificatePEM)
        let (server, port) = try start(ca.server(), ["-Verify", "1", "-verify_return_error", "-CAfile", authority])
        defer { withExtendedLifetime(server) {} }
        let context = try TLSContext(client: .init(trustRoots: ca.trustRoots, versions: version...version))
        let gathered = try ask(context, port: port)
        #expect(gathered.errors == [.certificateRejected])
        #expect(gathered.handshakes.count == (version == .tls13 ? 1 : 0))
    }

    @Test("A wrong name, an expired certificate and a foreign authority are told apart")
    func untrusted() throws {
        let context = try TLSContext(client: .init(trustRoots: ca.trustRoots))
        let (named, namedPort) = try start(ca.server())
        #expect(try ask(context, port: namedPort, serverName: "push.example.com").errors == [.peerNameMismatch])
        let (expired, expiredPort) = try start(ca.server(validity: .expired))
        #expect(try ask(context, port: expiredPort).errors == [.untrustedPeer])
        let (foreign, foreignPort) = try start(ThrowAwayCA.selfSigned())
        #expect(try ask(context, port: foreignPort).errors == [.untrustedPeer])
        withExtendedLifetime((named, expired, foreign)) {}
    }

    @Test("Its session tickets pass unnoticed")
    func tickets() throws {
        let (server, port) = try start(ca.server(), ["-num_tickets", "4", "-tls1_3"])
        defer { withExtendedLifetime(server) {} }
        let gathered = try ask(TLSContext(client: .init(trustRoots: ca.trustRoots)), port: port)
        #expect(String(buffer: gathered.text) == "cba\n")
        #expect(gathered.errors == [])
    }
}
