internal import ArgumentParser
internal import FerryAdmin
internal import FerryAppStore
internal import FerryTerminal

/// The options that lead to a receiver that runs.
struct ReceiverPlaceOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The store of the receiver, beside which its admin socket is.", valueName: "file"))
    var store: String?

    @OptionGroup var place: AdminPlaceOptions

    func client() throws -> AdminClient {
        try self.place.client {
            guard let path = AdminPlan.socket(of: .appstore, nil, store: self.store).path else {
                throw CommandFailure.usage("Give --store FILE, --socket PATH or --url URL.")
            }
            return path
        }
    }
}

/// The command `ferry appstore status`.
struct AppStoreStatusCommand: AsyncParsableCommand {
    static let configuration = AdministeredServer.appstore.statusCommand

    @OptionGroup var receiver: ReceiverPlaceOptions

    @Flag(help: "Print the status as one JSON object.")
    var json = false

    func run() async throws {
        let status = try await self.receiver.client().print(AppStoreStatus.self, json: self.json)
        if status.exitStatus != .success { throw status.exitStatus }
    }
}

/// The command `ferry appstore top`.
struct AppStoreTopCommand: AsyncParsableCommand {
    static let configuration = AdministeredServer.appstore.topCommand

    @OptionGroup var receiver: ReceiverPlaceOptions

    func run() async throws { try await self.receiver.client().showLive(AppStoreStatus.self) }
}
