internal import ArgumentParser
internal import Ferry
internal import FerryTesting

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// `ferry simulate`
struct SimulateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "simulate",
        abstract: "Runs a simulated APNs.",
        discussion: """
            Prints the bound ports as one JSON line as soon as it listens, and runs until SIGINT, SIGTERM or SIGHUP.

            Examples:
              ferry simulate --binary 2195 --tls-dir tls --record accepted.jsonl
              ferry simulate --binary 0 --tls-dir tls --script trouble.json

            A script, every key of which may be left out:
              {"errorDelaySeconds": 0.2, "rules": [{"prefix": "bad0", "status": 8}, {"after": 1000, "status": 10}]}
            """
    )

    @Option(parsing: .unconditional, help: "The port of the binary gateway; 0 for any.")
    var binary: Int

    @Option(help: "The address to listen on.")
    var host = "127.0.0.1"

    @Option(
        help: """
            A directory of ca.pem, server and client certificates, made when there are none. Without it they are made in \
            memory, and no client can verify the server.
            """
    )
    var tlsDir: String?

    @Option(help: "The highest TLS version: 1.2 or 1.3.")
    var tlsMax = TLSMaximum.tls12

    @Flag(help: "Take clients that show no certificate.")
    var noClientCertificate = false

    @Option(help: "A JSON file that says what goes wrong.")
    var script: String?

    @Option(help: "Where one JSON line goes for each accepted notification.")
    var record: String?

    func validate() throws {
        guard 0...65_535 ~= self.binary else { throw ValidationError("--binary takes a port, 0 to 65535.") }
    }

    func run() async throws {
        var configuration = try self.configuration()
        let recorder = try self.recorder()
        configuration.recorder = recorder
        let gateway = try await self.start(configuration)
        try Console.print(#"{"binary":\#(gateway.port)}"#)
        await Self.signal()
        await gateway.stop()
        if let failure = recorder?.failure { throw CommandFailure.usage("\(failure)") }
    }

    private func recorder() throws -> GatewayFileRecorder? {
        guard let record else { return nil }
        if let script, let file = FileIdentity(path: record), file == FileIdentity(path: script) {
            throw CommandFailure.usage("The record would overwrite the script; give --record a file of its own.")
        }
        do {
            return try GatewayFileRecorder(path: record)
        } catch {
            throw CommandFailure.usage("The record cannot be written: \(error)")
        }
    }

    private func configuration() throws -> SimulatedGateway.Configuration {
        let credentials: TestCredentials
        do {
            credentials = try self.tlsDir.map { try TLSDirectory.open($0) } ?? TestCredentials()
        } catch {
            let directory = self.tlsDir ?? "memory"
            throw CommandFailure.usage("No TLS credentials in \(directory): \(Sentence.of(error))")
        }
        var configuration = SimulatedGateway.Configuration(credentials: credentials)
        configuration.host = self.host
        configuration.port = self.binary
        configuration.requiresClientCertificate = !self.noClientCertificate
        configuration.maximumTLSVersion = self.tlsMax.version
        if let script {
            do {
                configuration.script = try GatewayScript(contentsOfFile: script)
            } catch {
                throw CommandFailure.usage("The script \(script) cannot be used: \(Sentence.of(error))")
            }
        }
        return configuration
    }

    private func start(_ configuration: SimulatedGateway.Configuration) async throws -> SimulatedGateway {
        do {
            return try await SimulatedGateway.start(configuration)
        } catch {
            throw CommandFailure.usage("Cannot listen on \(self.host), port \(self.binary): \(Sentence.of(error))")
        }
    }

    /// Waits for SIGINT, SIGTERM or SIGHUP.
    private static func signal() async {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
        let signals = Signals { _ in continuation.finish() }
        for await _ in stream {}
        withExtendedLifetime(signals) {}
    }
}
