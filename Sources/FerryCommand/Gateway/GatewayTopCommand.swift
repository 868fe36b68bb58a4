internal import ArgumentParser
internal import FerryAdmin
internal import FerryCore
internal import FerryGateway
internal import FerryPlatform
internal import FerryTerminal

/// The command `ferry gateway top`.
struct GatewayTopCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "top",
        abstract: "Shows a gateway that runs, live, until q or Control-C.",
        discussion: """
            Asks the admin service of the gateway once a second, as 'ferry gateway status' does once.

            Example:
              ferry gateway top --config gateway.json
            """
    )

    @ParentCommand var gateway: GatewayCommand
    @OptionGroup var place: AdminPlaceOptions

    func run() async throws {
        try await self.gateway.reportingFailure {
            guard isatty(STDOUT_FILENO) == 1 else {
                throw CommandFailure.usage("'top' draws on a terminal: use 'ferry gateway status', also with --json.")
            }
            let client = try self.place.client(config: self.gateway.config)
            // Its failure is a sentence, and must not vanish with the screen.
            var status = try await client.status().0
            let isEnded = Locked(false)
            let signals = Signals { _ in isEnded.withLock { $0 = true } }
            let screen = TerminalScreen()
            defer {
                screen.end()
                withExtendedLifetime(signals) {}
            }
            var fault: String?
            while !isEnded.withLock({ $0 }) {
                let size = screen.size
                let head = fault.map { "\($0.printable)\n" } ?? ""
                screen.draw(head + GatewayStatusText(status).screen(lines: size.lines - 1, columns: size.columns))
                let next = ContinuousClock.now + .seconds(1)
                while ContinuousClock.now < next, !isEnded.withLock({ $0 }) {
                    // A short wait, so that a signal is answered at once.
                    if screen.key(within: 100) == "q" { return }
                }
                do {
                    status = try await client.status().0
                    fault = nil
                } catch {
                    fault = "No answer now: \((error as? CommandFailure)?.message ?? Sentence.of(error))"
                }
            }
        }
    }
}
