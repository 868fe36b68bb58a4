internal import ArgumentParser
internal import FerryGateway

/// The command `ferry gateway top`.
struct GatewayTopCommand: AsyncParsableCommand {
    static let configuration = AdministeredServer.gateway.topCommand

    @ParentCommand var gateway: GatewayCommand
    @OptionGroup var shown: ShownConfigOption
    @OptionGroup var place: AdminPlaceOptions

    func run() async throws {
        try await self.gateway.reportingFailure {
            let client = try self.place.client { try self.gateway.adminSocket(orPort: true) }
            try await client.showLive(GatewayStatus.self)
        }
    }
}
