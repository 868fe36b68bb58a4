import FerryOpenSSL
import Testing

/// Tests of chains that lead to a trusted authority but must be refused.
struct ConstraintTests {
    enum Fault: String, CaseIterable {
        case pathTooLong, nameConstraint, wrongPurpose, notAnAuthority

        var words: String {
            switch self {
            case .pathTooLong: "more authorities than one of them permits"
            case .nameConstraint: "may not vouch for the name"
            case .wrongPurpose: "made for another purpose"
            case .notAnAuthority: "a certificate that is no authority"
            }
        }

        var kind: ChainFault.Kind {
            switch self {
            case .pathTooLong: .pathTooLong
            case .nameConstraint: .nameConstraint
            case .wrongPurpose: .wrongPurpose
            case .notAnAuthority: .notAnAuthority
            }
        }
    }

    private static let names = "subjectAltName=DNS:localhost"
    private static let authority = ["basicConstraints=critical,CA:TRUE", "keyUsage=critical,keyCertSign"]

    private let workshop: CertificateWorkshop

    init() throws {
        workshop = CertificateWorkshop(directory: try TemporaryDirectory())
    }

    private func make(_ fault: Fault) throws -> (TLSIdentity, TrustRoots) {
        switch fault {
        case .pathTooLong:
            let root = try workshop.root("root", ["basicConstraints=critical,CA:TRUE,pathlen:0"])
            let between = try workshop.issue("between", by: root, Self.authority)
            let server = try workshop.issue("server", by: between, [Self.names])
            return (try workshop.identity(server, chain: [between]), .file(root.path))
        case .nameConstraint:
            let root = try workshop.root("root", ["nameConstraints=critical,permitted;DNS:example.com"])
            let server = try workshop.issue("server", by: root, [Self.names])
            return (try workshop.identity(server), .file(root.path))
        case .wrongPurpose:
            let root = try workshop.root("root")
            let server = try workshop.issue("server", by: root, [Self.names, "extendedKeyUsage=clientAuth"])
            return (try workshop.identity(server), .file(root.path))
        case .notAnAuthority:
            let root = try workshop.root("root")
            let between = try workshop.issue("between", by: root, ["basicConstraints=critical,CA:FALSE"])
            let server = try workshop.issue("server", by: between, [Self.names])
            return (try workshop.identity(server, chain: [between]), .file(root.path))
        }
    }

    @Test(
        arguments: Fault.allCases
    )
    func `each fault of a constraint has its own sentence, and its own kind among the faults of a chain`(fault: Fault)
        throws
    {
        let (identity, roots) = try make(fault)
        let client = try TLSContext(client: .init(trustRoots: roots))
        var pair = try EnginePair(client: client, server: TLSContext(server: .init(identity: identity)))
        pair.run()
        let error = try #require(pair.clientLog.failures.first)
        #expect(error.code == .untrustedPeer)
        #expect(error.description.contains(fault.words), "\(error)")
        #expect(!error.description.contains("trust roots"), "\(error)")
        let chain = try CertificateChain(certificates: identity.certificateChainPEM, source: "")
        #expect(chain.faults(for: client).map(\.kind).contains(fault.kind))
    }

    @Test func `the server's owner learns that a client's certificate is for another purpose`() throws {
        let root = try workshop.root("root")
        let own = try workshop.issue("client", by: root, ["extendedKeyUsage=serverAuth"])
        let ca = try ThrowAwayCA()
        var pair = try EnginePair(
            client: TLSContext(client: .init(trustRoots: ca.trustRoots, identity: workshop.identity(own))),
            server: TLSContext(server: .init(identity: ca.server(), clientCertificates: .required(.file(root.path))))
        )
        pair.run()
        let error = try #require(pair.serverLog.failures.first)
        #expect(error.code == .untrustedPeer)
        #expect(error.description.contains("usage clientAuth"), "\(error)")
    }

    @Test func `the error tells a certificate that is not valid yet from one of an unknown authority`() throws {
        let ca = try ThrowAwayCA()
        var pair = try EnginePair(
            client: TLSContext(client: .init(trustRoots: ca.trustRoots)),
            server: TLSContext(server: .init(identity: ca.server(validity: .future)))
        )
        pair.run()
        let error = try #require(pair.clientLog.failures.first)
        #expect(error.code == .untrustedPeer)
        #expect(error.description.contains("not yet valid"))
        #expect(error.description.contains("clock"))
        #expect(!error.description.contains("trust roots"))
    }
}
