internal import ArgumentParser
internal import Ferry
internal import FerryTerminal

/// The command `ferry channels create`.
struct ChannelsCreateCommand: AsyncParsableCommand, SocketCommand {
    static let configuration = CommandConfiguration(
        commandName: "create",
        abstract: "Creates a channel, and prints its id.",
        discussion: """
            APNs tells the id only now, and in a list: keep it. A request without an answer is not repeated, because it may \
            have made a channel: look with ferry channels list before the next.

            Exit status: 0, made; 1, APNs refused it, or gave no answer; 2, bad usage; 3, no connection, or refused \
            credentials.

            Examples:
              ferry channels create --topic com.example.app --production \\
                --p8 AuthKey_ABCDE12345.p8 --key-id ABCDE12345 --team-id FGHIJ67890
              ferry channels create --topic com.example.app --policy latest --sandbox --json \\
                --cert push.pem --key push-key.pem
            """
    )

    @Option(
        help: ArgumentHelp(
            """
            What APNs keeps for devices that are not connected: none or 0, no message; latest or 1, the most recent \
            message for at most 8 hours. It cannot be changed later. (default: none)
            """,
            valueName: "policy"
        )
    )
    var policy: StoragePolicyOption?

    @OptionGroup
    var options: ChannelOptions

    @Flag(help: #"Print one JSON object: {"channelId":"dHN0LXNyY2gtY2hubA==","messageStoragePolicy":0}."#)
    var json = false

    var socketCount: Int { 1 }

    func run() async throws {
        let policy = self.policy?.policy ?? .noMessageStored
        try await self.options.change { manager throws(ChannelManagerError) in
            try await manager.create(policy)
        } done: { id in
            "The channel \(id) was made: keep this id."
        } report: { id in
            guard self.json else { return try Console.print(id.rawValue) }
            // An identifier contains only Base64, so JSON needs no escapes.
            try Console.print(#"{"channelId":"\#(id)","messageStoragePolicy":\#(policy.rawValue)}"#)
        }
    }
}
