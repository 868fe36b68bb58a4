internal import ArgumentParser

/// The command `ferry channels`.
struct ChannelsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "channels",
        abstract: "Creates, reads, deletes and lists the broadcast channels of an app.",
        discussion: """
            Production and development have channels of their own, at most 10,000 of each app. Broadcast is for Live \
            Activities, and must be switched on for the app in the developer account.

            Exit status: 0, done; 1, APNs refused it, or gave no answer; 2, bad usage; 3, no connection, or refused \
            credentials.

            Examples:
              ferry channels create --topic com.example.app --policy latest --sandbox \\
                --p8 AuthKey_ABCDE12345.p8 --key-id ABCDE12345 --team-id FGHIJ67890
              ferry channels list --topic com.example.app --to localhost:2197 --ca tls/ca.pem \\
                --p8 tls/token-key.p8 --key-id FERRYKEY01 --team-id FERRYTEAM1
            """,
        subcommands: [
            ChannelsCreateCommand.self, ChannelsReadCommand.self, ChannelsDeleteCommand.self, ChannelsListCommand.self,
        ]
    )
}
