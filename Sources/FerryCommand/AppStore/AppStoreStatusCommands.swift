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
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Shows how a receiver that runs is.",
        discussion: """
            Asks the admin service of the receiver: over its socket, as the user that runs it, or over its port.

            The exit status is 0 if the receiver is well, 1 if there is trouble, and 3 if nobody answers.

            Examples:
              ferry appstore status --store notifications.db
              ferry appstore status --socket /run/ferry-appstore/appstore-admin --json
            """
    )

    @OptionGroup var receiver: ReceiverPlaceOptions

    @Flag(help: "Print the status as one JSON object.")
    var json = false

    func run() async throws {
        let (status, text): (AppStoreStatus, String) = try await self.receiver.client().status(of: .appstore)
        try Console.printList(self.json ? text : AppStoreStatusText(status).screen)
        guard status.condition.level == .well else { throw ExitStatus.notAllAccepted }
    }
}

/// The command `ferry appstore top`.
struct AppStoreTopCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "top",
        abstract: "Shows a receiver that runs, live, until q or Control-C.",
        discussion: """
            Asks the admin service of the receiver once a second, as 'ferry appstore status' does once.

            Example:
              ferry appstore top --store notifications.db
            """
    )

    @OptionGroup var receiver: ReceiverPlaceOptions

    func run() async throws {
        let client = try self.receiver.client()
        try await TopScreen.run(insteadOf: "ferry appstore status") {
            let (status, _): (AppStoreStatus, String) = try await client.status(of: .appstore)
            return AppStoreStatusText(status).screen
        }
    }
}
