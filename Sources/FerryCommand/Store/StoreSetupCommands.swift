internal import ArgumentParser
internal import FerryPostgres
internal import FerryTerminal

/// The command `ferry store init`.
struct StoreInitCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "init",
        abstract: "Makes the tables, or adds shards.",
        discussion: """
            The user needs the right to make a schema in the database. Shards may be added to tables that exist while no \
            gateway runs, and never be taken away. The balancer's configuration must name the same number.
            """
    )

    @OptionGroup var options: DatabaseOptions

    @Option(help: ArgumentHelp("The number of shards. Three machines share 8 well.", valueName: "number"))
    var shards = 8

    func validate() throws {
        guard 1...PostgresSchema.largestShardCount ~= self.shards else {
            throw ValidationError("--shards is a number from 1 to \(PostgresSchema.largestShardCount).")
        }
    }

    func run() async throws {
        let shards = self.shards
        let before = try await self.options.withSetup { (setup) throws(PostgresError) in
            try await setup.make(shards: shards)
        }
        switch before {
        case 0: try Console.print("The database has the tables of Ferry now, and \(shards) shards.")
        case shards: try Console.print("The database had the tables of Ferry already, with \(shards) shards.")
        default: try Console.print("The database has \(shards) shards now; it had \(before).")
        }
    }
}

/// The command `ferry store migrate`.
struct StoreMigrateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "migrate",
        abstract: "Brings the tables to the version of this build.",
        discussion: "Gateways of this version and of the one before go on meanwhile."
    )

    @OptionGroup var options: DatabaseOptions

    func run() async throws {
        // Version 1 is the first, so there is nothing to change.
        _ = try await self.options.withSetup { (setup) throws(PostgresError) in try await setup.known() }
        try Console.print("The tables have version \(PostgresSchema.version), which this build needs.")
    }
}

/// The command `ferry store check`.
struct StoreCheckCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Checks that gateways and workers can use the database."
    )

    @OptionGroup var options: DatabaseOptions

    func run() async throws {
        let shards = try await self.options.withSetup { (setup) throws(PostgresError) in
            try await setup.check(PostgresRights.allCases)
        }
        try Console.print("The database is good: version \(PostgresSchema.version), \(shards) shards.")
    }
}
