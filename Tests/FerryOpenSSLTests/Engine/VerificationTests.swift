import FerryOpenSSL
import NIOCore
import Testing

/// Tests of verification: each fault has a separate code, with TLS 1.2 and with 1.3.
struct VerificationTests {
    static let versions: [TLSVersion] = [.tls12, .tls13]

    let ca: ThrowAwayCA

    init() throws {
        ca = try ThrowAwayCA()
    }

    private func connect(
        to server: TLSIdentity,
        as client: TLSIdentity? = nil,
        host: String = "localhost",
        trusting roots: TrustRoots? = nil,
        version: TLSVersion,
        asking policy: TLSContext.ClientCertificates = .ignored
    ) throws -> EnginePair {
        let clientContext = try TLSContext(
            client: .init(trustRoots: roots ?? ca.trustRoots, identity: client, versions: version...version)
        )
        let serverContext = try TLSContext(
            server: .init(identity: server, maximum: version, clientCertificates: policy)
        )
        var pair = try EnginePair(client: clientContext, server: serverContext, host: host)
        pair.run()
        return pair
    }

    @Test(arguments: versions)
    func `a server is trusted by name and by address`(version: TLSVersion) throws {
        let server = try ca.server(
            dnsNames: ["push.example.com", "*.wild.example.com"],
            ipAddresses: ["127.0.0.1", "::1"]
        )
        for host in ["push.example.com", "PUSH.example.com", "push.example.com.", "127.0.0.1", "::1", "[::1]"] {
            let pair = try connect(to: server, host: host, version: version)
            #expect(pair.clientLog.order == ["handshake"], "\(host)")
        }
        let wild = try connect(to: server, host: "a.wild.example.com", version: version)
        #expect(wild.clientLog.order == ["handshake"])
    }

    @Test(arguments: versions)
    func `a server with another name is refused as such`(version: TLSVersion) throws {
        let server = try ca.server(
            dnsNames: ["push.example.com", "part*.example.com", "*.wild.example.com"],
            ipAddresses: ["127.0.0.1"]
        )
        for host in ["localhost", "partial.example.com", "a.b.wild.example.com", "127.0.0.2", "::1"] {
            let pair = try connect(to: server, host: host, version: version)
            #expect(pair.clientLog.failures.map(\.code) == [.peerNameMismatch], "\(host)")
            #expect(pair.serverLog.handshakes.isEmpty)
        }
    }

    @Test(arguments: ["", ".", ".example.com", "a\0b"])
    func `a name that would match any server is refused`(name: String) throws {
        let context = try TLSContext(client: .init(trustRoots: ca.trustRoots))
        let error = #expect(throws: TLSError.self) { _ = try TLSEngine(context: context, peer: PeerName(name)) }
        #expect(error?.code == .invalidConfiguration)
    }

    @Test(arguments: versions)
    func `expired, future, self-signed and unknown servers are refused with a reason`(version: TLSVersion) throws {
        let stranger = try ThrowAwayCA(name: "Somebody else")
        let cases: [(TLSIdentity, String)] = [
            (try ca.server(validity: .expired), "has expired"),
            (try ca.server(validity: .future), "not yet valid"),
            (try ThrowAwayCA.selfSigned(), "self-signed"),
            (try stranger.server(), "unable to get local issuer certificate"),
        ]
        for (server, reason) in cases {
            let pair = try connect(to: server, version: version)
            let error = try #require(pair.clientLog.failures.first)
            #expect(error.code == .untrustedPeer)
            #expect(error.description.contains(reason), "\(error)")
            #expect(!error.causes.isEmpty)
            #expect(pair.serverLog.failures.first?.code == .alertReceived)
        }
    }

    @Test func `only a context for testing trusts every server`() throws {
        let server = try TLSContext(server: .init(identity: ThrowAwayCA.selfSigned(dnsNames: ["elsewhere"])))
        let testing = try TLSContext(testingWithoutVerification: .init())
        var pair = try EnginePair(client: testing, server: server)
        pair.run()
        #expect(pair.clientLog.order == ["handshake"])
        #expect(throws: TLSError.self) {
            _ = try TLSEngine(context: TLSContext(client: .init(trustRoots: ca.trustRoots)))
        }
    }

    @Test(arguments: versions)
    func `a missing client certificate is a rejection, before or after the client's handshake`(version: TLSVersion)
        throws
    {
        let pair = try connect(to: ca.server(), version: version, asking: .required(ca.trustRoots))
        #expect(pair.serverLog.failures.map(\.code) == [.peerCertificateMissing])
        #expect(pair.clientLog.failures.map(\.code) == [.certificateRejected])
        #expect(pair.clientLog.handshakes.count == (version == .tls13 ? 1 : 0))
        #expect(
            pair.clientLog.failures.first?.alert == (version == .tls13 ? "certificate required" : "handshake failure")
        )
    }

    @Test(arguments: versions)
    func `a client certificate that the server does not trust is a rejection`(version: TLSVersion) throws {
        let stranger = try ThrowAwayCA(name: "Somebody else")
        for client in [try stranger.client(), try ca.client(validity: .expired)] {
            let pair = try connect(to: ca.server(), as: client, version: version, asking: .required(ca.trustRoots))
            #expect(pair.serverLog.failures.map(\.code) == [.untrustedPeer])
            #expect(pair.clientLog.failures.map(\.code) == [.certificateRejected])
        }
    }

    @Test func `an alert after the first application byte does not reject the certificate`() throws {
        var pair = try connect(to: ca.server(), as: ca.client(), version: .tls12, asking: .required(ca.trustRoots))
        try pair.server.encrypt(ByteBuffer(string: "hello"))
        pair.run()
        pair.server.ingest(ByteBuffer(bytes: [23, 3, 3, 0, 32] + [UInt8](repeating: 1, count: 32)))
        pair.run()
        #expect(pair.clientLog.failures.map(\.code) == [.alertReceived])
        #expect(pair.clientLog.failures.first?.alert == "bad record mac")
    }

    @Test(arguments: versions)
    func `a trusted client certificate is accepted and can be looked at`(version: TLSVersion) throws {
        let client = try ca.client(topic: "com.example.app")
        let pair = try connect(to: ca.server(), as: client, version: version, asking: .required(ca.trustRoots))
        #expect(pair.serverLog.order == ["handshake"])
        #expect(pair.server.peerCertificate?.userID == "com.example.app")
        #expect(pair.server.peerCertificate == client.summary)
    }

    @Test(arguments: versions)
    func `a certificate that is only requested may be missing, or signed by anybody`(version: TLSVersion) throws {
        let without = try connect(to: ca.server(), version: version, asking: .requested)
        #expect(without.serverLog.order == ["handshake"])
        #expect(without.server.peerCertificate == nil)
        let anybody = try ThrowAwayCA(name: "Somebody else").client(validity: .expired)
        let with = try connect(to: ca.server(), as: anybody, version: version, asking: .requested)
        #expect(with.serverLog.order == ["handshake"])
        #expect(with.server.peerCertificate == anybody.summary)
    }

    @Test(arguments: versions)
    func `a pinned fingerprint admits an expired certificate of an unknown issuer, and no other`(version: TLSVersion)
        throws
    {
        let stranger = try ThrowAwayCA(name: "Somebody else")
        let known = try stranger.client(validity: .expired)
        let policy = TLSContext.ClientCertificates.pinned([known.summary.fingerprint])
        let good = try connect(to: ca.server(), as: known, version: version, asking: policy)
        #expect(good.serverLog.order == ["handshake"])
        let bad = try connect(to: ca.server(), as: stranger.client(), version: version, asking: policy)
        #expect(bad.serverLog.failures.map(\.code) == [.untrustedPeer])
        let none = try connect(to: ca.server(), version: version, asking: policy)
        #expect(none.serverLog.failures.map(\.code) == [.peerCertificateMissing])
    }

    @Test func `a closure of the server's owner decides by the contents of the certificate`() throws {
        let policy = TLSContext.ClientCertificates.verified { $0.userID == "com.example.app" }
        let good = try connect(
            to: ca.server(),
            as: ca.client(topic: "com.example.app"),
            version: .tls13,
            asking: policy
        )
        #expect(good.serverLog.order == ["handshake"])
        let bad = try connect(to: ca.server(), as: ca.client(topic: "com.other"), version: .tls13, asking: policy)
        #expect(bad.clientLog.failures.map(\.code) == [.certificateRejected])
    }
}
