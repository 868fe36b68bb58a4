internal import ArgumentParser
internal import FerryAdmin
internal import FerryCore
internal import FerryGateway
internal import FerryTerminal

/// The command `ferry gateway status`.
struct GatewayStatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Shows how a gateway that runs is.",
        discussion: """
            Asks the admin service of the gateway: over its socket, as the user that runs it, or over its port.

            The exit status is 0 if the gateway is well, 1 if there is trouble, and 3 if nobody answers.

            Examples:
              ferry gateway status --config gateway.json
              ferry gateway status --socket /run/ferry-gateway/gateway-admin --json
            """
    )

    @ParentCommand var gateway: GatewayCommand
    @OptionGroup var place: AdminPlaceOptions

    @Flag(help: "Print the status as one JSON object.")
    var json = false

    func run() async throws {
        try await self.gateway.reportingFailure {
            let client = try self.place.client { try self.gateway.adminSocket() }
            let (status, text): (GatewayStatus, String) = try await client.status(of: .gateway)
            try Console.printList(self.json ? text : GatewayStatusText(status).screen)
            guard status.condition.level == .well else { throw ExitStatus.notAllAccepted }
        }
    }
}
