import FerryOpenSSL
import Foundation
import NIOCore
import Testing

/// Tests with narrow, old or weak servers, played by `openssl s_server`.
struct OldServerTests {
    let ca: ThrowAwayCA
    let directory: TemporaryDirectory

    init() throws {
        ca = try ThrowAwayCA(key: .rsa2048)
        directory = try TemporaryDirectory()
    }

    private func client(
        _ profile: TLSProfile = .modern,
        _ versions: ClosedRange<TLSVersion> = .tls12 ... .tls12
    ) throws -> TLSContext {
        try TLSContext(client: .init(trustRoots: ca.trustRoots, profile: profile, versions: profile.widened(versions)))
    }

    @Test
    func `each suite of TLS 1.2 that the system's policy allows is agreed on, if the server has no other`() throws {
        let suites = try OpenSSLTool.run(["ciphers", "-s", "-tls1_2"])
            .trimmingCharacters(in: .whitespacesAndNewlines).split(separator: ":").map(String.init)
        #expect(suites.count > 10)
        let identities = (rsa: try ca.server(key: .rsa2048), ecdsa: try ca.server(key: .p256))
        for profile in TLSProfile.allCases {
            let context = try client(profile)
            for suite in suites {
                let identity = suite.contains("ECDSA") ? identities.ecdsa : identities.rsa
                let server = try OpenSSLServer(identity, ["-tls1_2", "-cipher", suite], in: directory)
                let gathered = try server.ask(context)
                #expect(gathered.cipherSuite == suite, "\(profile)")
                #expect(String(buffer: gathered.text) == "cba\n", "\(profile), \(suite)")
            }
        }
    }

    @Test(
        arguments: [
            ("ALL", "ECDHE-RSA-AES128-GCM-SHA256"),
            ("AES128-SHA:ECDHE-RSA-AES128-SHA256:DHE-RSA-AES256-GCM-SHA384", "DHE-RSA-AES256-GCM-SHA384"),
            ("AES256-GCM-SHA384:ECDHE-RSA-AES256-SHA:ECDHE-RSA-CHACHA20-POLY1305", "ECDHE-RSA-CHACHA20-POLY1305"),
        ]
    )
    func `the suites of HTTP/2 come first in the list that the server chooses from`(list: String, chosen: String) throws
    {
        let server = try OpenSSLServer(
            ca.server(key: .rsa2048),
            ["-tls1_2", "-cipher", list, "-alpn", "h2"],
            in: directory
        )
        for profile in TLSProfile.allCases {
            let context = try TLSContext(
                client: .init(
                    trustRoots: ca.trustRoots,
                    profile: profile,
                    versions: .tls12 ... .tls12,
                    applicationProtocols: ["h2"]
                )
            )
            #expect(try server.ask(context).cipherSuite == chosen, "\(profile)")
        }
    }

    @Test(arguments: ["-tls1", "-tls1_1"])
    func `TLS 1.0 and 1.1 need the legacy profile, and the error says so`(option: String) throws {
        let server = try OpenSSLServer(
            ca.server(key: .rsa2048),
            [option, "-cipher", "ALL:@SECLEVEL=0"],
            in: directory
        )
        let gathered = try server.ask(client(.legacy))
        #expect(String(buffer: gathered.text) == "cba\n")
        #expect(gathered.version == (option == "-tls1" ? .tls10 : .tls11))
        let refused = try server.ask(client())
        #expect(refused.errors == [.incompatiblePeer])
        #expect(refused.complaint.contains("TLS version"))
        #expect(refused.complaint.contains("the legacy profile"))
    }

    @Test func `a suite outside the policy is named as the cause, and the legacy profile has it`() throws {
        let server = try OpenSSLServer(ca.server(key: .rsa2048), ["-tls1_2", "-cipher", "AES128-CCM"], in: directory)
        let refused = try server.ask(client())
        #expect(refused.errors == [.incompatiblePeer])
        #expect(refused.complaint.contains("refuses every cipher suite"))
        #expect(refused.complaint.contains("the legacy profile"))
        #expect(!refused.complaint.contains("TLS version"))
        #expect(try server.ask(client(.legacy)).cipherSuite == "AES128-CCM")
    }

    @Test func `a certificate with SHA-1 or a key of 1024 bits is weak, and the legacy profile accepts it`() throws {
        let (authority, key) = (directory.path("old-ca.pem"), directory.path("old-ca.key"))
        try OpenSSLTool.run(
            ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-sha1", "-subj", "/CN=Old CA", "-days", "10"]
                + ["-keyout", key, "-out", authority]
        )
        let (request, serverKey) = (directory.path("old.csr"), directory.path("old.key"))
        try OpenSSLTool.run(
            ["req", "-newkey", "rsa:1024", "-nodes", "-subj", "/CN=localhost", "-keyout", serverKey, "-out", request]
        )
        let certificate = directory.path("old.pem")
        let names = try directory.write("names.cnf", Array("subjectAltName=DNS:localhost".utf8))
        try OpenSSLTool.run(
            ["x509", "-req", "-in", request, "-CA", authority, "-CAkey", key, "-sha1", "-days", "10"]
                + ["-extfile", names, "-set_serial", "7", "-out", certificate]
        )
        let server = try OpenSSLServer(certificate: certificate, key: serverKey, ["-cipher", "ALL:@SECLEVEL=0"])
        func ask(_ profile: TLSProfile) throws -> Gatherer.Result {
            try server.ask(TLSContext(client: .init(trustRoots: .file(authority), profile: profile)))
        }
        #expect(String(buffer: try ask(.legacy).text) == "cba\n")
        let refused = try ask(.modern)
        #expect(refused.errors == [.untrustedPeer])
        #expect(refused.complaint.contains("too weak"))
        #expect(refused.complaint.contains("the legacy profile"))
    }
}
