import FerryOpenSSL
import NIOCore
import Testing

struct OpenSSLServerTests {
    let ca: ThrowAwayCA
    let directory: TemporaryDirectory

    init() throws {
        ca = try ThrowAwayCA()
        directory = try TemporaryDirectory()
    }

    private func start(
        _ identity: TLSIdentity,
        _ options: [String] = []
    ) throws -> (server: RunningTool, port: Int) {
        let server = try OpenSSLServer(identity, options, in: directory)
        return (server.tool, server.port)
    }

    private func ask(_ context: TLSContext, port: Int, serverName: String = "localhost") throws -> Gatherer.Result {
        try OpenSSLServer.ask(context, port: port, serverName: serverName)
    }

    @Test(arguments: TLSVersion.allCases)
    func `our client verifies s_server and talks, in every version`(version: TLSVersion) throws {
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

    @Test(arguments: [TLSVersion.tls12, .tls13])
    func `s_server sees our certificate, and we see its protocol`(version: TLSVersion) throws {
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

    @Test(arguments: [TLSVersion.tls12, .tls13])
    func `without our certificate the error says that it was rejected`(version: TLSVersion) throws {
        let authority = try directory.write("ca.pem", ca.certificatePEM)
        let (server, port) = try start(ca.server(), ["-Verify", "1", "-verify_return_error", "-CAfile", authority])
        defer { withExtendedLifetime(server) {} }
        let context = try TLSContext(client: .init(trustRoots: ca.trustRoots, versions: version...version))
        let gathered = try ask(context, port: port)
        #expect(gathered.errors == [.certificateRejected])
        #expect(gathered.handshakes.count == (version == .tls13 ? 1 : 0))
    }

    @Test func `the errors of a wrong name, an expired certificate and a foreign authority differ`() throws {
        let context = try TLSContext(client: .init(trustRoots: ca.trustRoots))
        let (named, namedPort) = try start(ca.server())
        #expect(try ask(context, port: namedPort, serverName: "push.example.com").errors == [.peerNameMismatch])
        let (expired, expiredPort) = try start(ca.server(validity: .expired))
        #expect(try ask(context, port: expiredPort).errors == [.untrustedPeer])
        let (foreign, foreignPort) = try start(ThrowAwayCA.selfSigned())
        #expect(try ask(context, port: foreignPort).errors == [.untrustedPeer])
        withExtendedLifetime((named, expired, foreign)) {}
    }

    @Test func `session tickets of s_server do no harm`() throws {
        let (server, port) = try start(ca.server(), ["-num_tickets", "4", "-tls1_3"])
        defer { withExtendedLifetime(server) {} }
        let gathered = try ask(TLSContext(client: .init(trustRoots: ca.trustRoots)), port: port)
        #expect(String(buffer: gathered.text) == "cba\n")
        #expect(gathered.errors == [])
    }
}
