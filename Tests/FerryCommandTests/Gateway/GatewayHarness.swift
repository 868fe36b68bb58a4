import Ferry
import FerryOpenSSL
import FerryTesting
import Foundation
import Testing

/// A directory with a configuration of `ferry gateway` and its credentials.
struct GatewayHarness: Sendable {
    static let topic = "com.example.ferry"

    let directory: TemporaryDirectory
    let credentials: TestCredentials

    static func run(_ body: (GatewayHarness) async throws -> Void) async throws {
        try await TemporaryDirectory.with { directory in
            let authority = try ThrowAwayCA()
            let credentials = try TestCredentials(authority: authority, topic: Self.topic, key: .p256)
            _ = try directory.write("ca.pem", authority.certificatePEM)
            _ = try directory.write("server.pem", credentials.server.certificateChainPEM)
            _ = try directory.write("server-key.pem", credentials.server.privateKeyPEM())
            _ = try directory.write("client.pem", credentials.client.certificateChainPEM)
            _ = try directory.write("client-key.pem", credentials.client.privateKeyPEM())
            _ = try directory.write("key.p8", credentials.tokenKey.p8())
            try await body(GatewayHarness(directory: directory, credentials: credentials))
        }
    }

    /// Writes a configuration, and returns its path.
    ///
    /// - Parameters:
    ///   - port: of APNs.
    ///   - changes: other values for members, as JSON; nil removes the member.
    func configuration(port: Int = 1, _ changes: [String: String?] = [:]) throws -> String {
        var members: [String: String] = [
            "listen": #"{"port": 0, "cert": "server.pem", "key": "server-key.pem"}"#,
            "upstreams": """
            {"apns": {"to": "localhost:\(port)", "ca": "ca.pem", "p8": "key.p8", \
            "keyID": "\(self.credentials.keyID)", "teamID": "\(self.credentials.teamID)"}}
            """,
            "clients": #"[{"name": "shop", "cert": "client.pem", "topics": ["\#(Self.topic)"]}]"#,
        ]
        for (name, value) in changes { members[name] = value }
        let text = members.sorted { $0.key < $1.key }.map { "\"\($0.key)\": \($0.value)" }.joined(separator: ",\n")
        return try self.directory.write("gateway.json", "{\(text)}\n")
    }

    func check(_ changes: [String: String?] = [:]) async throws -> FerryProgram.Output {
        try await FerryProgram.run(
            ["gateway", "--config", self.configuration(changes), "--check"],
            in: self.directory
        )
    }

    /// Starts a gateway, and returns it with its port once it listens.
    ///
    /// - Parameter shell: see ``FerryProgram``.
    func start(
        port: Int = 1,
        _ changes: [String: String?] = [:],
        input: FileHandle = .nullDevice,
        shell: String? = nil
    ) async throws -> (FerryProgram, Int) {
        let program = try self.begin(port: port, changes, input: input, shell: shell)
        return (program, try await self.port(of: program))
    }

    /// Starts a gateway, and does not wait for it.
    func begin(
        port: Int = 1,
        _ changes: [String: String?] = [:],
        input: FileHandle = .nullDevice,
        shell: String? = nil
    ) throws -> FerryProgram {
        let configuration = try self.configuration(port: port, changes)
        return try FerryProgram(
            ["gateway", "--config", configuration],
            in: self.directory,
            input: input,
            shell: shell
        )
    }

    /// Waits until a gateway listens, and returns its port.
    func port(of program: FerryProgram) async throws -> Int {
        #expect(try await eventually { try program.result.hasSuffix("}\n") })
        let ports = try JSONSerialization.jsonObject(with: Data(program.result.utf8)) as? [String: Int]
        return try #require(ports?["binary"])
    }

    /// Sends lines to a gateway as an old client. Silence counts as acceptance.
    func push(_ numbers: ClosedRange<Int>, to port: Int) async throws -> FerryProgram.Output {
        let lines = try self.directory.write("lines", numbers.map { PushHarness.line($0) + "\n" }.joined())
        return try await FerryProgram.run(
            [
                "push", lines, "--json", "--proof", "silence", "--settle-time", "1", "--connection-retry-limit", "0",
                "--drain-limit", "10", "--to", "localhost:\(port)", "--ca", self.directory.path("ca.pem"),
                "--cert", self.directory.path("client.pem"), "--key", self.directory.path("client-key.pem"),
            ],
            in: self.directory
        )
    }

    /// Reads the client's feedback list.
    func readFeedback(of port: Int) async throws -> FerryProgram.Output {
        try await FerryProgram.run(
            [
                "feedback", "--json", "--to", "localhost:\(port)", "--ca", self.directory.path("ca.pem"),
                "--cert", self.directory.path("client.pem"), "--key", self.directory.path("client-key.pem"),
            ],
            in: self.directory
        )
    }
}
