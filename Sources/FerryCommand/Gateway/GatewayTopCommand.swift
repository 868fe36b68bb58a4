internal import ArgumentParser
internal import FerryAdmin
internal import FerryGateway

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
            let client = try self.place.client { try self.gateway.adminSocket() }
            try await TopScreen.run(insteadOf: "ferry gateway status") {
                let (status, _): (GatewayStatus, String) = try await client.status(of: .gateway)
                return GatewayStatusText(status).screen
            }
        }
    }
}
