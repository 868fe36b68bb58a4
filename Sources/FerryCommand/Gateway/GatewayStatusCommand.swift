internal import ArgumentParser
internal import FerryGateway
internal import FerryTerminal

/// The command `ferry gateway status`.
struct GatewayStatusCommand: AsyncParsableCommand {
    static let configuration = AdministeredServer.gateway.statusCommand

    @ParentCommand var gateway: GatewayCommand
    @OptionGroup var shown: ShownConfigOption
    @OptionGroup var place: AdminPlaceOptions

    @Flag(help: "Print the status as one JSON object.")
    var json = false

    func run() async throws {
        try await self.gateway.reportingFailure {
            let client = try self.place.client { try self.gateway.adminSocket(orPort: true) }
            let status = try await client.print(GatewayStatus.self, json: self.json)
            if status.exitStatus != .success { throw status.exitStatus }
        }
    }
}
