import FerryOpenSSL
import Foundation
import Testing

@Suite(.timeLimit(.minutes(10))) struct GatewayCertificateTests {
    private static func write(_ validity: ThrowAwayCA.Validity, in harness: GatewayHarness) throws {
        let server = try ThrowAwayCA().server(validity: validity)
        _ = try harness.directory.write("server.pem", server.certificateChainPEM)
        _ = try harness.directory.write("server-key.pem", server.privateKeyPEM())
    }

    @Test func `--check refuses a listener whose certificate has expired`() async throws {
        try await GatewayHarness.run { harness in
            try Self.write(.expired, in: harness)
            let output = try await harness.check()
            #expect(output.status == 2)
            #expect(output.messages.hasPrefix("ferry: listen.cert: the certificate in "), "\(output.messages)")
            #expect(output.messages.contains("server.pem"), "\(output.messages)")
            #expect(output.messages.contains(" expired on "), "\(output.messages)")
        }
    }

    @Test func `--check and a start warn of a certificate that ends within 30 days, with its file`() async throws {
        try await GatewayHarness.run { harness in
            try Self.write(.days(9), in: harness)
            let output = try await harness.check()
            #expect(output.status == 0, "\(output.messages)")
            let warning = "ferry: warning: the certificate in \(harness.directory.path("server.pem")) (listen.cert, CN="
            #expect(output.messages.hasPrefix(warning), "\(output.messages)")
            #expect(output.messages.contains(", in 8 days. Replace it before.\n"), "\(output.messages)")
            #expect(output.messages.split(separator: "\n").count == 1)
            let (program, _) = try await harness.start()
            #expect(try await eventually { try program.messages.contains(warning) })
            await program.killAndWait()
        }
    }

    @Test func `a certificate that ends in 40 days is not warned of`() async throws {
        try await GatewayHarness.run { harness in
            try Self.write(.days(40), in: harness)
            let output = try await harness.check()
            #expect(output.status == 0)
            #expect(output.messages == "")
        }
    }

    @Test func `the authorities of clients and the certificate of an upstream are looked at, too`() async throws {
        try await GatewayHarness.run { harness in
            let authority = try ThrowAwayCA()
            let ending = try authority.client(validity: .days(3))
            _ = try harness.directory.write("push.pem", ending.certificateChainPEM)
            _ = try harness.directory.write("push-key.pem", ending.privateKeyPEM())
            let output = try await harness.check([
                "upstreams":
                    #"{"apns": {"to": "localhost:1", "ca": "ca.pem", "cert": "push.pem", "key": "push-key.pem"}}"#,
                "listen":
                    #"{"port": 0, "cert": "server.pem", "key": "server-key.pem", "clientCA": "push.pem"}"#,
            ])
            #expect(output.status == 0, "\(output.messages)")
            let lines = output.messages.split(separator: "\n")
            #expect(lines.count == 2, "\(output.messages)")
            #expect(lines.count { $0.contains("push.pem (upstreams.apns.cert, CN=") } == 1, "\(output.messages)")
            #expect(lines.count { $0.contains("push.pem (listen.clientCA, CN=") } == 1, "\(output.messages)")
        }
    }
}
