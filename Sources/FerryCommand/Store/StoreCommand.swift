internal import ArgumentParser
internal import FerryOptions
internal import FerryPostgres
internal import FerryTerminal

/// The command `ferry store`, with its subcommands.
struct StoreCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "store",
        abstract: "Makes and shows the tables of several gateways, and of workers, in PostgreSQL.",
        discussion: """
            The exit status is 0 if all is well, 2 if the database cannot be used as it is, and 3 if PostgreSQL does not \
            answer or refuses the user.

            Examples:
              ferry store init --shards 8 --config gateway.json
              ferry store check --config gateway.json
              ferry store status --config gateway.json
              ferry store move 3 gw2 --config gateway.json
            """,
        subcommands: [
            StoreInitCommand.self, StoreMigrateCommand.self, StoreCheckCommand.self, StoreStatusCommand.self,
            StoreMoveCommand.self,
        ]
    )
}

/// The option that leads to the database.
struct DatabaseOptions: ParsableArguments {
    @Option(help: ArgumentHelp("A configuration with 'store.postgres'.", valueName: "file"))
    var config: String

    /// Calls `body` with a session that can make and read the tables.
    func withSetup<Value>(
        _ body: (PostgresSetup) async throws(PostgresError) -> Value
    ) async throws(CommandFailure) -> Value {
        let setup = PostgresSetup(try self.connection())
        defer { setup.close() }
        do {
            return try await body(setup)
        } catch {
            throw CommandFailure(error)
        }
    }

    private func connection() throws(CommandFailure) -> String {
        let bytes = try ConfigurationFile.contents(of: self.config)
        let configuration: OptionObject
        do {
            configuration = try OptionObject(bytes, of: .gateway)
        } catch {
            throw .usage("\(self.config): \(error)")
        }
        // The configuration may have a fault elsewhere, which the gateway names.
        guard case .object(let store) = configuration.members["store"], case .text(let text) = store["postgres"] else {
            throw .usage("\(self.config) has no 'store.postgres': give the connection string of the database there.")
        }
        return text
    }
}
