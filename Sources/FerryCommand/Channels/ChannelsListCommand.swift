internal import ArgumentParser
internal import Ferry
internal import FerryTerminal

/// The command `ferry channels list`.
struct ChannelsListCommand: AsyncParsableCommand, SocketCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Prints the ids of all channels of an app, one a line.",
        discussion: """
            The list is whole, or there is none and the exit status is 1.

            Exit status: 0, listed, also if there is no channel; 1, APNs refused it, or gave no answer; 2, bad usage; 3, no \
            connection, or refused credentials.

            Examples:
              ferry channels list --topic com.example.app --production \\
                --p8 AuthKey_ABCDE12345.p8 --key-id ABCDE12345 --team-id FGHIJ67890
              ferry channels list --topic com.example.app --sandbox --json --cert push.pem --key push-key.pem
            """
    )

    @OptionGroup
    var options: ChannelOptions

    @Flag(help: #"Print one JSON object: {"channels":["dHN0LXNyY2gtY2hubA=="]}."#)
    var json = false

    var socketCount: Int { 1 }

    func run() async throws {
        let ids = try await self.options.withManager { manager throws(ChannelManagerError) in
            try await manager.list()
        }
        guard self.json else {
            if !ids.isEmpty { try Console.printList(ids.map(\.rawValue).joined(separator: "\n")) }
            return
        }
        // An identifier contains only Base64, so JSON needs no escapes.
        try Console.printList(#"{"channels":[\#(ids.map { #""\#($0)""# }.joined(separator: ","))]}"#)
    }
}
