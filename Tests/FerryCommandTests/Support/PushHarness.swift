import Ferry
import FerryOpenSSL
import FerryTesting
import Foundation

/// A simulated gateway in this process, its credentials in files, and `ferry push` sending to it.
struct PushHarness: Sendable {
    let directory: TemporaryDirectory
    let authority: ThrowAwayCA
    let gateway: SimulatedGateway
    let recorder: GatewayMemoryRecorder

    static func run(
        _ script: GatewayScript = GatewayScript(),
        _ body: (PushHarness) async throws -> Void
    ) async throws {
        try await TemporaryDirectory.with { directory in
            let authority = try ThrowAwayCA()
            let credentials = try TestCredentials(authority: authority, topic: "com.example.ferry", key: .p256)
            let recorder = GatewayMemoryRecorder()
            var configuration = SimulatedGateway.Configuration(credentials: credentials)
            configuration.script = script
            configuration.recorder = recorder
            let gateway = try await SimulatedGateway.start(configuration)
            let harness = PushHarness(
                directory: directory,
                authority: authority,
                gateway: gateway,
                recorder: recorder
            )
            do {
                _ = try directory.write("ca.pem", authority.certificatePEM)
                try harness.write(credentials.client, as: "client")
                try await body(harness)
            } catch {
                await gateway.stop()
                throw error
            }
            await gateway.stop()
        }
    }

    func write(_ identity: TLSIdentity, as name: String) throws {
        _ = try self.directory.write("\(name).pem", identity.certificateChainPEM)
        _ = try self.directory.write("\(name)-key.pem", identity.privateKeyPEM())
    }

    static func token(_ number: Int) -> String {
        let hex = String(number, radix: 16)
        return String(repeating: "0", count: 64 - hex.count) + hex
    }

    static func line(_ number: Int) -> String {
        #"{"token":"\#(self.token(number))","payload":{"aps":{"badge":\#(number)}},"ref":"no. \#(number)"}"#
    }

    /// Writes the lines of notifications `numbers`, and returns the file's path.
    func lines(_ numbers: some Sequence<Int>) throws -> String {
        try self.directory.write("lines", numbers.map { Self.line($0) + "\n" }.joined())
    }

    /// Options that prove acceptance by a probe after 5 s of silence. Silence alone proves nothing, because a gateway
    /// without processor time is silent too. Only for runs of about ten lines: with more, a window between two
    /// rejections would also wait for silence.
    static let proving = ["--proof", "probe", "--settle-time", "5"]

    /// The arguments of `ferry push FILE` for the gateway, with a client certificate that it accepts.
    func arguments(
        _ file: String,
        port: Int? = nil,
        ca: String = "ca.pem",
        cert: String = "client.pem",
        key: String = "client-key.pem"
    ) -> [String] {
        [
            "push", file, "--json", "--settle-time", "1", "--connect-timeout", "300",
            "--to", "localhost:\(port ?? self.gateway.port)",
            "--ca", self.directory.path(ca), "--cert", self.directory.path(cert), "--key", self.directory.path(key),
        ]
    }

    func push(_ arguments: [String], _ more: String...) async throws -> FerryProgram.Output {
        try await FerryProgram.run(arguments + more, in: self.directory)
    }
}
