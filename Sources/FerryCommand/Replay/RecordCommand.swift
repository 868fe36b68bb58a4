internal import ArgumentParser
internal import Ferry
internal import FerryTerminal
internal import FerryTesting

/// The command `ferry record`.
struct RecordCommand: AsyncParsableCommand, SocketCommand {
    static let configuration = CommandConfiguration(
        commandName: "record",
        abstract: "Stands between a client and a gateway, and writes what they say to a transcript.",
        discussion: """
            Ends the TLS of both sides. Prints its port as one JSON line as soon as it listens, and runs until SIGINT \
            or SIGTERM.

            Examples:
              ferry record session.transcript --listen 2195 --tls-dir tls --to gateway.example.com:2195 \\
                --cert provider.pem --key provider-key.pem
              ferry record session.transcript --redact --listen 0 --tls-dir tls --to localhost:3195 --ca tls/ca.pem \\
                --cert tls/client.pem --key tls/client-key.pem
            """
    )

    @Argument(help: ArgumentHelp("Where the transcript goes; an existing file is replaced.", valueName: "file"))
    var file: String

    @OptionGroup(title: "The client's side")
    var listener: ListenerOptions

    @Option(help: ArgumentHelp("The gateway; without a port, 2195.", valueName: "host:port"))
    var to: Endpoint

    @OptionGroup(title: "The gateway's side")
    var tls: ClientTLSOptions

    @Option(help: "What is spoken: gateway (notifications) or feedback.")
    var service = ServiceOption.gateway

    @Flag(help: "Replace device tokens and payloads in the transcript, length for length.")
    var redact = false

    @OptionGroup var progress: ProgressOptions

    /// The event of this command's messages.
    private enum Event: String {
        case notConnected
    }

    func validate() throws { try OutputName.require(self.file, "The transcript") }

    // There are the listener, and both sides of a few connections.
    var socketCount: Int { 9 }

    func run() async throws {
        var configuration = RecordingGateway.Configuration(
            to: self.to.host,
            port: self.to.port ?? self.service.defaultPort,
            path: self.file
        )
        configuration.host = self.listener.host
        configuration.port = self.listener.listen
        configuration.credentials = try self.listener.credentials()
        configuration.gatewayTLS = try self.tls.clientTLS()
        configuration.service = self.service.service
        configuration.redacts = self.redact
        configuration.onProblem = {
            MessageWriter.shared.write(
                LogMessage(Event.notConnected, .warning, "A connection was not made: \(Sentence.of($0))")
            )
        }
        let gateway = try await self.start(configuration)
        let shown = self.progress.display?.show {
            let recorded = gateway.recorded
            return WorkProgress(
                count: recorded.lines,
                words: ["\(recorded.lines) lines", "\(recorded.connections) connections"]
            )
        }
        try await Signals.wait { try Console.print(#"{"port":\#(gateway.port)}"#) }
        await shown?.end()
        await gateway.stop()
        await MessageWriter.shared.flush(within: .seconds(1))
        if let failure = gateway.failure { throw CommandFailure.usage("\(failure)") }
    }

    private func start(_ configuration: RecordingGateway.Configuration) async throws -> RecordingGateway {
        do {
            return try await RecordingGateway.start(configuration)
        } catch let error as FileError {
            throw CommandFailure.usage("The transcript cannot be written: \(error)")
        } catch {
            throw CommandFailure.usage(self.listener.complaint(error))
        }
    }
}

/// The service that the command speaks.
enum ServiceOption: String, ExpressibleByArgument, CaseIterable {
    case gateway, feedback

    var service: Transcript.Service { self == .gateway ? .gateway : .feedback }
    var defaultPort: Int { self.service.defaultPort }
}

extension Transcript.Service {
    /// Apple's port of the service.
    var defaultPort: Int {
        switch self {
        case .gateway: BinaryConfiguration.defaultPort
        case .feedback: FeedbackConfiguration.defaultPort
        }
    }
}
