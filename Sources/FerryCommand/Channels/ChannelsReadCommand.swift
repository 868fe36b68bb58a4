internal import ArgumentParser
internal import Ferry
internal import FerryCore
internal import FerryTerminal

/// The command `ferry channels read`.
struct ChannelsReadCommand: AsyncParsableCommand, SocketCommand {
    static let configuration = CommandConfiguration(
        commandName: "read",
        abstract: "Prints the policy of a channel.",
        discussion: """
            Exit status: 0, read; 1, there is no such channel, or APNs gave no answer; 2, bad usage; 3, no connection, or \
            refused credentials.

            Examples:
              ferry channels read dHN0LXNyY2gtY2hubA== --topic com.example.app --production \\
                --p8 AuthKey_ABCDE12345.p8 --key-id ABCDE12345 --team-id FGHIJ67890
            """
    )

    @Argument(help: ArgumentHelp("The channel's id.", valueName: "channel"))
    var channel: ChannelArgument

    @OptionGroup
    var options: ChannelOptions

    @Flag(
        help: #"""
            Print one JSON object: \#
            {"channelId":"dHN0LXNyY2gtY2hubA==","messageStoragePolicy":1,"pushType":"LiveActivity"}.
            """#
    )
    var json = false

    var socketCount: Int { 1 }

    func run() async throws {
        let id = self.channel.id
        let channel = try await self.options.withManager { manager throws(ChannelManagerError) in
            try await manager.read(id)
        }
        let policy = channel.storagePolicy
        guard self.json else {
            return try Console.print(
                "message storage policy: \(policy.rawValue) (\(policy))\npush type: \(channel.pushType.printable)"
            )
        }
        var pushType: [UInt8] = []
        pushType.appendJSONString(channel.pushType)
        try Console.print(
            #"{"channelId":"\#(channel.id)","messageStoragePolicy":\#(policy.rawValue),"pushType":"#
                + String(decoding: pushType, as: UTF8.self) + "}"
        )
    }
}
