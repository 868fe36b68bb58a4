import FerryOpenSSL
import FerryTesting

/// A simulated feedback service in this process, its credentials in files, and `ferry feedback` reading from it.
struct FeedbackHarness: Sendable {
    let directory: TemporaryDirectory
    let service: SimulatedFeedback

    static func run(
        _ script: FeedbackScript = FeedbackScript(),
        _ body: (FeedbackHarness) async throws -> Void
    ) async throws {
        try await TemporaryDirectory.with { directory in
            let authority = try ThrowAwayCA()
            let credentials = try TestCredentials(authority: authority, topic: "com.example.ferry", key: .p256)
            var configuration = SimulatedFeedback.Configuration(credentials: credentials)
            configuration.script = script
            let service = try await SimulatedFeedback.start(configuration)
            do {
                _ = try directory.write("ca.pem", authority.certificatePEM)
                _ = try directory.write("client.pem", credentials.client.certificateChainPEM)
                _ = try directory.write("client-key.pem", credentials.client.privateKeyPEM())
                try await body(FeedbackHarness(directory: directory, service: service))
            } catch {
                await service.stop()
                throw error
            }
            await service.stop()
        }
    }

    /// The arguments of `ferry feedback` for the service, with a client certificate that it accepts.
    func arguments(port: Int? = nil) -> [String] {
        [
            "feedback", "--to", "localhost:\(port ?? self.service.port)", "--ca", self.directory.path("ca.pem"),
            "--cert", self.directory.path("client.pem"), "--key", self.directory.path("client-key.pem"),
            "--connect-timeout", "300", "--idle-timeout", "300",
        ]
    }

    func feedback(_ more: String...) async throws -> FerryProgram.Output {
        try await FerryProgram.run(self.arguments() + more, in: self.directory)
    }
}
