internal import ArgumentParser

/// The command `ferry identity`.
struct IdentityCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "identity",
        abstract: "Makes the certificates of a gateway and of the old stack before it.",
        subcommands: [IdentityNewCommand.self]
    )
}
