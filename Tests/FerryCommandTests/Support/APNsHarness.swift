import Ferry
import FerryOpenSSL
import FerryTesting
import Foundation

/// A simulated APNs over HTTP/2 in this process, its credentials in files, and `ferry push` sending to it.
struct APNsHarness: Sendable {
    static let topic = "com.example.ferry"

    let directory: TemporaryDirectory
    let authority: ThrowAwayCA
    let credentials: TestCredentials
    let apns: SimulatedAPNs
    let recorder: APNsMemoryRecorder

    static func run(
        _ script: HTTP2Script = HTTP2Script(),
        _ body: (APNsHarness) async throws -> Void
    ) async throws {
        try await TemporaryDirectory.with { directory in
            let authority = try ThrowAwayCA()
            let credentials = try TestCredentials(authority: authority, topic: Self.topic, key: .p256)
            let recorder = APNsMemoryRecorder()
            var configuration = SimulatedAPNs.Configuration(credentials: credentials)
            configuration.script = script
            configuration.recorder = recorder
            let apns = try await SimulatedAPNs.start(configuration)
            let harness = APNsHarness(
                directory: directory,
                authority: authority,
                credentials: credentials,
                apns: apns,
                recorder: recorder
            )
            do {
                _ = try directory.write("ca.pem", authority.certificatePEM)
                _ = try directory.write("key.p8", credentials.tokenKey.p8())
                _ = try directory.write("client.pem", credentials.client.certificateChainPEM)
                _ = try directory.write("client-key.pem", credentials.client.privateKeyPEM())
                try await body(harness)
            } catch {
                await apns.stop()
                throw error
            }
            await apns.stop()
        }
    }

    /// Runs with a script that contains only these rules.
    static func run(rules: [HTTP2Rule], _ body: (APNsHarness) async throws -> Void) async throws {
        try await self.run(HTTP2Script(rules: rules), body)
    }

    /// The options that name the key for provider tokens.
    func token(p8: String? = nil, keyID: String? = nil, teamID: String? = nil) -> [String] {
        [
            "--p8", p8 ?? self.directory.path("key.p8"), "--key-id", keyID ?? self.credentials.keyID,
            "--team-id", teamID ?? self.credentials.teamID,
        ]
    }

    /// A source that signs with the key for provider tokens.
    func tokenSource() throws -> ProviderTokenSource {
        try ProviderTokenSource(
            key: self.credentials.tokenKey,
            keyID: self.credentials.keyID,
            teamID: self.credentials.teamID
        )
    }

    /// The options that name the provider certificate.
    var certificate: [String] {
        ["--cert", self.directory.path("client.pem"), "--key", self.directory.path("client-key.pem")]
    }

    /// Limits that only end a run that hangs. Later options replace them.
    static let patience = ["--connect-timeout", "300", "--attempt-timeout", "300", "--deadline", "600"]

    /// The options that name the simulated APNs.
    func server(port: Int? = nil) -> [String] {
        ["--to", "localhost:\(port ?? self.apns.port)", "--ca", self.directory.path("ca.pem")]
    }

    /// Writes the lines of notifications `numbers`, and returns the file's path.
    func lines(_ numbers: some Sequence<Int>) throws -> String {
        try self.directory.write("lines", numbers.map { PushHarness.line($0) + "\n" }.joined())
    }

    /// The device tokens of notifications `numbers`.
    static func tokens(_ numbers: some Sequence<Int>) throws -> Set<DeviceToken> {
        try Set(numbers.map { try DeviceToken(hex: PushHarness.token($0)) })
    }

    /// Runs `ferry push --backend http2 FILE`, with a provider token unless other credentials are given.
    func push(
        _ file: String,
        port: Int? = nil,
        as credentials: [String]? = nil,
        topic: String? = Self.topic,
        _ more: String...
    ) async throws -> FerryProgram.Output {
        try await FerryProgram.run(
            ["push", file, "--backend", "http2", "--json"] + Self.patience + self.server(port: port)
                + (credentials ?? self.token()) + (topic.map { ["--topic", $0] } ?? []) + more,
            in: self.directory
        )
    }
}
