internal import ArgumentParser
internal import Ferry
internal import FerryTerminal

/// The command `ferry channels delete`.
struct ChannelsDeleteCommand: AsyncParsableCommand, SocketCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete",
        abstract: "Deletes one channel for good.",
        discussion: """
            A deleted channel cannot be restored. Messages that APNs has stored may still arrive. ChannelNotRegistered \
            means that there is no such channel: after a deletion without an answer, that it is gone.

            Exit status: 0, deleted; 1, there is no such channel, or APNs gave no answer; 2, bad usage; 3, no connection, \
            or refused credentials.

            Examples:
              ferry channels delete dHN0LXNyY2gtY2hubA== --topic com.example.app --production \\
                --p8 AuthKey_ABCDE12345.p8 --key-id ABCDE12345 --team-id FGHIJ67890
            """
    )

    @Argument(help: ArgumentHelp("The channel's id. There is no way to delete all.", valueName: "channel"))
    var channel: ChannelArgument

    @OptionGroup
    var options: ChannelOptions

    @Flag(help: #"Print one JSON object: {"deleted":"dHN0LXNyY2gtY2hubA=="}."#)
    var json = false

    var socketCount: Int { 1 }

    func run() async throws {
        let id = self.channel.id
        try await self.options.change { manager throws(ChannelManagerError) in
            try await manager.delete(id)
        } done: { _ in
            "The channel \(id) was deleted."
        } report: { _ in
            // An identifier contains only Base64, so JSON needs no escapes.
            try Console.print(self.json ? #"{"deleted":"\#(id)"}"# : "deleted \(id)")
        }
    }
}
