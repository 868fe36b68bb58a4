import Ferry
import FerryOpenSSL
import FerryTesting
import Testing

/// Tests of `--tls-profile` with servers that speak only TLS 1.0.
@Suite(.timeLimit(.minutes(10))) struct TLSProfileTests {
    private static let line = #"{"token":"00000000000000000000000000000000","payload":{"aps":{}}}"#

    /// Certificate and key are RSA, which every version supports.
    private static func withHarness(_ body: (DoctorHarness, TLSIdentity, [String]) async throws -> Void) async throws {
        try await DoctorHarness.run { harness in
            let options = try harness.options(harness.authority.client(key: .rsa2048))
            try await body(harness, harness.authority.server(key: .rsa2048), harness.ca + options)
        }
    }

    @Test func `ferry push advises the legacy profile for TLS 1.0, and sends with it`() async throws {
        try await Self.withHarness { harness, server, options in
            let change: (inout SimulatedGateway.Configuration) -> Void = {
                $0.acceptsLegacyTLS = true
                $0.maximumTLSVersion = .tls10
            }
            try await harness.withGateway(server, change) { port in
                let lines = try harness.directory.write("lines", Self.line)
                let arguments = ["push", lines, "--json", "--settle-time", "1", "--to", "localhost:\(port)"] + options
                let refused = try await FerryProgram.run(
                    arguments + ["--connection-retry-limit", "1"],
                    in: harness.directory
                )
                #expect(refused.status == 3)
                #expect(refused.messages.contains("--tls-profile legacy"), "\(refused.messages)")
                let sent = try await FerryProgram.run(arguments + ["--tls-profile", "legacy"], in: harness.directory)
                #expect(sent.status == 0, "\(sent.messages)")
            }
        }
    }

    @Test func `ferry feedback reads from a service with TLS 1.0 with the legacy profile`() async throws {
        try await Self.withHarness { harness, server, options in
            let credentials = TestCredentials(
                trustRoots: harness.authority.trustRoots,
                server: server,
                client: try harness.authority.client(),
                tokenKey: try ES256Key.generate()
            )
            var configuration = SimulatedFeedback.Configuration(credentials: credentials)
            configuration.acceptsLegacyTLS = true
            configuration.maximumTLSVersion = .tls10
            let service = try await SimulatedFeedback.start(configuration)
            let arguments = ["feedback", "--to", "localhost:\(service.port)"] + options
            let refused = try await FerryProgram.run(arguments, in: harness.directory)
            #expect(refused.status == 3)
            #expect(refused.messages.contains("--tls-profile legacy"), "\(refused.messages)")
            let read = try await FerryProgram.run(arguments + ["--tls-profile", "legacy"], in: harness.directory)
            #expect(read.status == 0, "\(read.messages)")
            await service.stop()
        }
    }

    @Test func `ferry doctor finds no fault with the legacy profile`() async throws {
        try await Self.withHarness { harness, server, options in
            let change: (inout SimulatedGateway.Configuration) -> Void = {
                $0.acceptsLegacyTLS = true
                $0.maximumTLSVersion = .tls10
            }
            try await harness.withGateway(server, change) { port in
                let arguments = ["localhost:\(port)"] + options
                let modern = try await harness.doctor(arguments)
                #expect(modern.problems.map(\.problem) == ["onlyOldTLS"])
                #expect(modern.problems.first?.cure?.contains("--tls-profile legacy") == true)
                let legacy = try await harness.doctor(arguments + ["--tls-profile", "legacy"])
                #expect(legacy.problems.map(\.severity) == ["warning"])
                #expect(legacy.status == 0)
            }
        }
    }

    @Test func `the system's policy counts, and a policy that permits nothing is named`() async throws {
        try await Self.withHarness { harness, server, options in
            let policy = """
                openssl_conf = init
                [init]
                ssl_conf = ssl
                [ssl]
                system_default = policy
                [policy]
                MinProtocol = TLSv1.3
                """
            let file = try harness.directory.write("openssl.cnf", policy)
            try await harness.withGateway(server) { port in
                let lines = try harness.directory.write("lines", Self.line)
                func push(_ more: String...) async throws -> FerryProgram.Output {
                    try await FerryProgram.run(
                        ["push", lines, "--json", "--to", "localhost:\(port)"] + options + more,
                        in: harness.directory,
                        shell: "OPENSSL_CONF='\(file)' exec \"$@\""
                    )
                }
                let output = try await push()
                #expect(output.status == 2)
                #expect(output.messages.contains("MinProtocol"), "\(output.messages)")
                // The option overrides the system's policy, for one run.
                #expect(try await push("--tls-profile", "legacy", "--settle-time", "1").status == 0)
            }
        }
    }
}
