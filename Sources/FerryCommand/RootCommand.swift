package import ArgumentParser
internal import Dispatch
internal import FerryCore
internal import FerryOpenSSL
internal import FerryTerminal

/// The `ferry` program with its subcommands.
package struct RootCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "ferry",
        abstract: "Sends push notifications to APNs, and tests what does.",
        discussion: """
            Results go to standard output, everything else to standard error.

            Exit status: 0, everything was accepted, or read; 1, some was not, or turned out not to be; 2, bad usage or \
            input; 3, no connection, or refused credentials.

            Examples:
              ferry demo
              ferry simulate --binary 2195 --tls-dir tls
              ferry push lines.jsonl --to localhost:2195 --ca tls/ca.pem \\
                --cert tls/client.pem --key tls/client-key.pem
              ferry simulate --http2 2197 --tls-dir tls
              ferry push lines.jsonl --backend http2 --to localhost:2197 \\
                --ca tls/ca.pem --topic com.example.ferry \\
                --p8 tls/token-key.p8 --key-id FERRYKEY01 --team-id FERRYTEAM1
              ferry doctor localhost:2195 --ca tls/ca.pem \\
                --cert tls/client.pem --key tls/client-key.pem
              ferry feedback --to localhost:2196 --ca tls/ca.pem \\
                --cert tls/client.pem --key tls/client-key.pem
            """,
        version: VersionReport.text(Array(CommandLine.arguments.dropFirst())),
        subcommands: [
            PushCommand.self, ChannelsCommand.self, FeedbackCommand.self, TokenCommand.self, DoctorCommand.self,
            SimulateCommand.self,
            GatewayCommand.self, StoreCommand.self, WorkerCommand.self, AppStoreCommand.self, IdentityCommand.self,
            RecordCommand.self, ReplayCommand.self,
            DemoCommand.self, BenchCommand.self,
        ]
    )

    package init() {}

    /// Runs the program. ArgumentParser's own entry point would exit with 64, but the documented status is 2.
    package static func main() async {
        OpenSSLMemory.keepAtExit()
        StandardStreams.reserve()
        Signals.ignoreBrokenPipes()
        do {
            var command = try Self.parseAsRoot()
            try FileDescriptorLimit.require(for: command)
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
        } catch let failure as CommandFailure {
            exit(failure)
        } catch let status as ExitStatus {
            exit(status)
        } catch {
            guard Self.exitCode(for: error) == .success else {
                Console.error(Self.complaint(error))
                exit(.badUsage)
            }
            do {
                try Console.printList(Self.fullMessage(for: error))
            } catch let failure as CommandFailure {
                exit(failure)
            } catch {
                exit(.success)
            }
        }
    }

    /// The message about a bad command line, with the usage.
    private static func complaint(_ error: any Error) -> String {
        let (message, whole) = (Self.message(for: error), Self.fullMessage(for: error))
        let commands = Self.configuration.subcommands.flatMap { [$0] + $0.configuration.subcommands }
        let help = ([Self.self] + commands).map {
            Self.helpMessage(for: $0, includeHidden: true, columns: .max)
        }
        let usage = UsageError(
            arguments: Array(CommandLine.arguments.dropFirst()),
            // The parser knows this option, but its help does not list it.
            help: help.joined() + " --generate-completion-script"
        )
        // The full message adds a prefix such as "Error: " before the parser's message, and the usage after it.
        guard !message.isEmpty, let place = whole.firstRange(of: message) else { return usage.text(whole) }
        return whole[..<place.lowerBound] + usage.text(message) + whole[place.upperBound...]
    }

    private static func exit(_ failure: CommandFailure) -> Never {
        Console.error("ferry: \(failure.message)")
        exit(failure.status)
    }

    private static func exit(_ status: ExitStatus) -> Never {
        Self.exit(withError: ExitCode(status.rawValue))
    }
}
