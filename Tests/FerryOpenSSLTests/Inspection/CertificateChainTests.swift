import FerryOpenSSL
import Testing

struct CertificateChainTests {
    let ca: ThrowAwayCA
    let client: TLSContext

    init() throws {
        ca = try ThrowAwayCA()
        client = try TLSContext(client: .init(trustRoots: ca.trustRoots))
    }

    private func chain(_ identity: TLSIdentity, _ behind: [UInt8] = []) throws -> CertificateChain {
        try CertificateChain(certificates: identity.certificateChainPEM + behind, source: "the chain")
    }

    @Test func `a chain that leads to a trust root has no faults, whether it includes the root or not`() throws {
        let server = try ca.server()
        #expect(try chain(server).faults(for: client) == [])
        let whole = try chain(server, ca.certificatePEM)
        #expect(whole.faults(for: client) == [])
        #expect(whole.certificates.map(\.isSelfSigned) == [false, true])
    }

    @Test func `each fault is reported by its name`() throws {
        let stranger = try ThrowAwayCA(name: "Another authority")
        let selfSigned = try chain(ThrowAwayCA.selfSigned())
        #expect(selfSigned.faults(for: client).map(\.kind) == [.selfSigned])
        #expect(selfSigned.certificates.map(\.isSelfSigned) == [true])
        let unknown = try chain(stranger.server()).faults(for: client)
        #expect(unknown == [ChainFault(kind: .unknownIssuer, place: 0)])
        let unknownRoot = try chain(stranger.server(), stranger.certificatePEM).faults(for: client)
        #expect(unknownRoot == [ChainFault(kind: .unknownIssuer, place: 1)])
        let namesake = try chain(ThrowAwayCA().server()).faults(for: client)
        #expect(namesake == [ChainFault(kind: .otherIssuer, place: 0)])
        let expired = try chain(ca.server(validity: .expired)).faults(for: client)
        #expect(expired == [ChainFault(kind: .expired, place: 0)])
        let future = try chain(ca.server(validity: .future)).faults(for: client)
        #expect(future == [ChainFault(kind: .notYetValid, place: 0)])
        let weak = try chain(ca.server(key: .rsa1024)).faults(for: client)
        #expect(weak == [ChainFault(kind: .weak, place: 0)])
        let wrongUse = try chain(ca.client()).faults(for: client)
        #expect(wrongUse.map(\.place) == [0])
    }

    @Test func `faults that occur together are reported together`() throws {
        let faults = try chain(ThrowAwayCA(name: "Another authority").server(validity: .expired)).faults(for: client)
        #expect(Set(faults.map(\.kind)) == [.unknownIssuer, .expired])
    }

    @Test func `the name is compared with the first certificate, as in a connection`() throws {
        let server = try chain(ca.server(dnsNames: ["*.example.com"], ipAddresses: ["10.0.0.1"]))
        for name in ["a.example.com", "A.EXAMPLE.COM.", "10.0.0.1"] { #expect(server.isFor(PeerName(name))) }
        for name in ["example.com", "a.b.example.com", "10.0.0.2", "localhost"] {
            #expect(!server.isFor(PeerName(name)))
        }
    }

    @Test(arguments: [false, true])
    func `a connection returns its chain and says whether a certificate was requested`(asks: Bool) throws {
        for version in [TLSVersion.tls12, .tls13] {
            let certificates: TLSContext.ClientCertificates = asks ? .required(ca.trustRoots) : .ignored
            var pair = try EnginePair(
                client: TLSContext(testingWithoutVerification: .init(versions: version...version)),
                server: TLSContext(server: .init(identity: ca.server(), clientCertificates: certificates))
            )
            let before = (asked: pair.client.wasAskedForCertificate, chain: pair.client.serverChain)
            #expect(!before.asked)
            #expect(before.chain == nil)
            pair.run()
            let after = (asked: pair.client.wasAskedForCertificate, chain: pair.client.serverChain)
            #expect(after.asked == asks)
            #expect(after.chain?.faults(for: client) == [])
            #expect(pair.clientLog.failures.map(\.code) == (asks ? [.certificateRejected] : []))
            let server = pair.server.wasAskedForCertificate
            #expect(!server)
        }
    }
}
