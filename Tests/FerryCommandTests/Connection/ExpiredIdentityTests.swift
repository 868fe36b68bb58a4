import Ferry
import FerryOpenSSL
import FerryTesting
import Foundation
import Testing

@Suite(.timeLimit(.minutes(10))) struct ExpiredIdentityTests {
    private static let words = "It is used all the same, and the server will probably refuse it."

    /// A certificate that has expired, as options.
    private static func options(_ authority: ThrowAwayCA, in directory: TemporaryDirectory) throws -> [String] {
        let expired = try authority.client(validity: .expired)
        return [
            "--cert", try directory.write("old.pem", expired.certificateChainPEM),
            "--key", try directory.write("old-key.pem", expired.privateKeyPEM()),
        ]
    }

    @Test func `push warns of a client certificate that expired, and delivers with it where it is taken`() async throws
    {
        try await TemporaryDirectory.with { directory in
            let authority = try ThrowAwayCA()
            let credentials = try TestCredentials(authority: authority, topic: "com.example.ferry", key: .p256)
            let recorder = GatewayMemoryRecorder()
            var configuration = SimulatedGateway.Configuration(credentials: credentials)
            configuration.requiresClientCertificate = false
            configuration.recorder = recorder
            let gateway = try await SimulatedGateway.start(configuration)
            let file = try directory.write("lines", PushHarness.line(1) + "\n")
            let output = try await FerryProgram.run(
                [
                    "push", file, "--json", "--settle-time", "1", "--to", "localhost:\(gateway.port)", "--ca",
                    directory.write("ca.pem", authority.certificatePEM),
                ] + Self.options(authority, in: directory),
                in: directory
            )
            await gateway.stop()
            #expect(output.status == 0, "\(output.messages)")
            #expect(output.messages.hasPrefix("ferry: warning: The certificate "), "\(output.messages)")
            #expect(output.messages.contains(Self.words), "\(output.messages)")
            #expect(recorder.notifications.count == 1)
        }
    }

    @Test func `push over HTTP/2 and feedback warn of it, and the server's refusal is what ends them`() async throws {
        try await APNsHarness.run { harness in
            let output = try await harness.push(
                harness.lines(1...1),
                as: Self.options(harness.authority, in: harness.directory)
            )
            #expect(output.status == 3, "\(output.messages)")
            #expect(output.messages.contains(Self.words), "\(output.messages)")
        }
        try await FeedbackHarness.run { harness in
            let options = try Self.options(ThrowAwayCA(), in: harness.directory)
            let output = try await FerryProgram.run(
                ["feedback", "--to", "localhost:\(harness.service.port)", "--ca", harness.directory.path("ca.pem")]
                    + options,
                in: harness.directory
            )
            #expect(output.status == 3, "\(output.messages)")
            #expect(output.messages.contains(Self.words), "\(output.messages)")
        }
    }
}
