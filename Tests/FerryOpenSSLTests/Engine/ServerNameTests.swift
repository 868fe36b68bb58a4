import FerryOpenSSL
import Testing

/// The choice of a server's context by the name that the client asks for.
struct ServerNameTests {
    private let ca: ThrowAwayCA

    init() throws { self.ca = try ThrowAwayCA() }

    private func connect(
        to host: String,
        as client: TLSIdentity? = nil,
        _ version: TLSVersion,
        asking policy: TLSContext.ClientCertificates = .ignored
    ) throws -> EnginePair {
        let both = ["one.example.com", "two.example.com"]
        let second = TLSContext.Server(
            identity: try self.ca.server(dnsNames: both, ipAddresses: []),
            maximum: version,
            clientCertificates: policy
        )
        var first = TLSContext.Server(
            identity: try self.ca.server(dnsNames: both, ipAddresses: ["127.0.0.1"]),
            maximum: version
        )
        first.named = ["two.example.com": try TLSContext(server: second)]
        var pair = try EnginePair(
            client: TLSContext(
                client: .init(trustRoots: self.ca.trustRoots, identity: client, versions: version...version)
            ),
            server: TLSContext(server: first),
            host: host
        )
        pair.run()
        return pair
    }

    @Test(arguments: [TLSVersion.tls12, .tls13])
    func `a name chooses the certificate, in any case of letters`(version: TLSVersion) throws {
        for name in ["two.example.com", "TWO.example.com"] {
            let pair = try self.connect(to: name, version)
            #expect(pair.clientLog.failures.isEmpty && pair.serverLog.failures.isEmpty)
            #expect(pair.server.requestedServerName == "two.example.com")
            #expect(pair.client.serverCertificates.first?.ipAddresses.isEmpty == true)
        }
    }

    @Test(arguments: [TLSVersion.tls12, .tls13])
    func `an unknown name and no name get the first certificate`(version: TLSVersion) throws {
        let unknown = try self.connect(to: "one.example.com", version)
        #expect(unknown.clientLog.failures.isEmpty)
        #expect(unknown.server.requestedServerName == "one.example.com")
        let none = try self.connect(to: "127.0.0.1", version)
        #expect(none.clientLog.failures.isEmpty)
        #expect(none.server.requestedServerName == nil)
    }

    @Test(arguments: [TLSVersion.tls12, .tls13])
    func `a name also chooses whether a certificate is required, and which`(version: TLSVersion) throws {
        let client = try self.ca.client()
        let policy = TLSContext.ClientCertificates.pinned([client.summary.fingerprint])
        let known = try self.connect(to: "two.example.com", as: client, version, asking: policy)
        #expect(known.serverLog.failures.isEmpty)
        #expect(known.server.peerCertificate?.fingerprint == client.summary.fingerprint)
        let without = try self.connect(to: "two.example.com", version, asking: policy)
        #expect(!without.serverLog.failures.isEmpty)
        let other = try self.connect(to: "one.example.com", version, asking: policy)
        #expect(other.serverLog.failures.isEmpty)
        #expect(other.server.peerCertificate == nil)
    }
}
