import FerryOpenSSL
import NIOCore
import Testing

struct NegotiationTests {
    let ca: ThrowAwayCA

    init() throws {
        ca = try ThrowAwayCA()
    }

    private func run(client: TLSContext.Client, server: TLSContext.Server) throws -> EnginePair {
        var pair = try EnginePair(client: TLSContext(client: client), server: TLSContext(server: server))
        pair.run()
        return pair
    }

    @Test func `the highest version that both sides speak is chosen`() throws {
        let client = TLSContext.Client(trustRoots: ca.trustRoots, versions: .tls10 ... .tls13)
        let server = TLSContext.Server(identity: try ca.server(), profile: .legacy, maximum: .tls12)
        let pair = try run(client: client, server: server)
        #expect(pair.client.version == .tls12)
    }

    @Test func `sides without a common version report it to each other`() throws {
        let old = try run(
            client: .init(trustRoots: ca.trustRoots, versions: .tls10 ... .tls11),
            server: .init(identity: ca.server())
        )
        #expect(old.clientLog.failures.map(\.code) == [.incompatiblePeer])
        #expect(old.serverLog.failures.map(\.code) == [.incompatiblePeer])
        let new = try run(
            client: .init(trustRoots: ca.trustRoots, versions: .tls13 ... .tls13),
            server: .init(identity: ca.server(), maximum: .tls12)
        )
        #expect(new.clientLog.failures.map(\.code) == [.incompatiblePeer])
    }

    @Test(arguments: [TLSVersion.tls12, .tls13])
    func `the server's preferred application protocol is selected`(version: TLSVersion) throws {
        let pair = try run(
            client: .init(
                trustRoots: ca.trustRoots,
                versions: version...version,
                applicationProtocols: ["http/1.1", "h2"]
            ),
            server: .init(identity: ca.server(), maximum: version, applicationProtocols: ["h2", "http/1.1"])
        )
        #expect(pair.clientLog.handshakes == ["h2"])
        #expect(pair.serverLog.handshakes == ["h2"])
    }

    @Test func `a server that serves none of the offered protocols refuses by alert`() throws {
        let pair = try run(
            client: .init(trustRoots: ca.trustRoots, applicationProtocols: ["h2"]),
            server: .init(identity: ca.server(), applicationProtocols: ["http/1.1"])
        )
        #expect(pair.clientLog.failures.map(\.code) == [.noCommonApplicationProtocol])
        #expect(pair.serverLog.failures.map(\.code) == [.noCommonApplicationProtocol])
    }

    @Test func `a client that needs a protocol fails when the server ignores ALPN`() throws {
        let pair = try run(
            client: .init(trustRoots: ca.trustRoots, applicationProtocols: ["h2"]),
            server: .init(identity: ca.server())
        )
        #expect(pair.clientLog.failures.map(\.code) == [.noCommonApplicationProtocol])
    }

    @Test func `without ALPN no protocol is reported`() throws {
        let pair = try run(
            client: .init(trustRoots: ca.trustRoots),
            server: .init(identity: ca.server(), applicationProtocols: ["h2"])
        )
        #expect(pair.clientLog.handshakes == [nil])
    }

    @Test func `the handshake is followed by no session ticket, because old clients would fail`() throws {
        let pair = try run(client: .init(trustRoots: ca.trustRoots), server: .init(identity: ca.server()))
        var server = try TLSEngine(context: TLSContext(server: .init(identity: ca.server())))
        var client = try TLSEngine(
            context: TLSContext(client: .init(trustRoots: ca.trustRoots)),
            peer: PeerName("localhost")
        )
        _ = client.step()
        server.ingest(try client.output())
        _ = server.step()
        client.ingest(try server.output())
        _ = client.step()
        server.ingest(try client.output())
        _ = server.step()
        #expect(server.version == .tls13)
        let isSilent = server.isSilent()
        #expect(isSilent)
        #expect(pair.clientLog.plaintextEvents == 0)
    }

    @Test(arguments: ["", String(repeating: "x", count: 256)])
    func `a name of an application protocol has 1 to 255 bytes`(name: String) throws {
        let client = TLSContext.Client(trustRoots: ca.trustRoots, applicationProtocols: [name])
        let error = #expect(throws: TLSError.self) { try TLSContext(client: client) }
        #expect(error?.code == .invalidConfiguration)
    }

    @Test func `a weak server key is refused at the modern level and accepted by the legacy profile`() throws {
        let weak = try ca.server(key: .rsa1024)
        let error = #expect(throws: TLSError.self) { try TLSContext(server: .init(identity: weak)) }
        #expect(error?.code == .weakCredentials)
        #expect(error?.description.contains("RSA 1024") == true)
        _ = try TLSContext(server: .init(identity: weak, profile: .legacy))
    }

    @Test(arguments: TLSVersion.allCases)
    func `an RSA server serves legacy clients down to TLS 1.0`(version: TLSVersion) throws {
        let pair = try run(
            client: .init(trustRoots: ca.trustRoots, identity: ca.client(key: .rsa2048), versions: version...version),
            server: .init(identity: ca.server(key: .rsa2048), profile: .legacy, clientCertificates: .requested)
        )
        #expect(pair.serverLog.order == ["handshake"])
        #expect(pair.server.version == version)
    }
}
