internal import ArgumentParser
internal import FerryAdmin
internal import FerryCore
internal import FerryPlatform
internal import FerryPostgres
internal import FerryTerminal

/// The command `ferry store status`.
struct StoreStatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Shows the shards and their owners."
    )

    @OptionGroup var options: DatabaseOptions

    @Flag(help: "Print the shards as one JSON list.")
    var json = false

    func run() async throws {
        let shards = try await self.options.withSetup { (setup) throws(PostgresError) in
            _ = try await setup.known()
            return try await setup.shards()
        }
        guard !self.json else {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            return try Console.print(String(decoding: try encoder.encode(shards), as: UTF8.self))
        }
        for shard in shards { try Console.print(Self.line(shard)) }
    }

    private static func line(_ shard: PostgresShard) -> String {
        var line = "shard \(shard.shard): "
        switch (shard.isOwned, shard.owner.isEmpty) {
        case (true, _): line += shard.owner.printable
        case (false, true): line += "no owner yet"
        case (false, false): line += "no owner; the last one was \(shard.owner.printable)"
        }
        func number(_ count: Int, _ noun: String) -> String { StatusWords.number(count, noun) }
        line += ", \(number(shard.segments, "segment")), \(number(shard.segmentBytes, "byte"))"
        if shard.lateSegments > 0 { line += ", \(number(shard.lateSegments, "segment")) of a former owner" }
        if let wanted = shard.wanted { line += ", to move to \(wanted.printable)" }
        return line
    }
}

/// The command `ferry store move`.
struct StoreMoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "move",
        abstract: "Asks the owner of a shard to hand it over to another gateway.",
        discussion: """
            The owner lets its clients finish, as at a shutdown, for some 5 seconds at most. The other gateway then takes \
            the shard at once. If it does not, any gateway takes it after some seconds.
            """
    )

    @OptionGroup var options: DatabaseOptions

    @Argument(help: "The number of the shard, from 0.")
    var shard: Int

    @Argument(help: "The name of the gateway ('store.node') that shall have it.")
    var node: String

    func run() async throws {
        let (shard, node) = (self.shard, self.node)
        try await self.options.withSetup { (setup) throws(PostgresError) in
            _ = try await setup.known()
            try await setup.move(shard, to: node)
        }
        try Console.print("Shard \(shard) will move to \(node.printable); ferry store status shows when it has.")
    }
}
