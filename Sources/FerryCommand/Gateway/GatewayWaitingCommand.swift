internal import ArgumentParser
internal import FerryAdmin
internal import FerryCore
internal import FerryGateway
internal import FerryHTTP1
internal import FerryPlatform
internal import FerryTerminal

/// The command `ferry gateway waiting`.
struct GatewayWaitingCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "waiting",
        abstract: "Shows what waits for APNs, and why.",
        discussion: """
            Everything without a final answer waits: what APNs has and has not answered, what goes out again, and what \
            cannot go out now. Letters do not wait: 'ferry gateway letters' shows them.

            Asks the gateway over its admin socket, as the user that runs it. With a million notifications it takes \
            some seconds, and what comes or goes meanwhile may be missing.

            Examples:
              ferry gateway waiting --config gateway.json
              ferry gateway waiting --config gateway.json --client shop --older-than 10
              ferry gateway waiting list --config gateway.json --reason topicRefused --limit 0 --json
            """,
        subcommands: [GatewayWaitingListCommand.self],
        defaultSubcommand: GatewayWaitingListCommand.self
    )
}

extension WaitingReason: ExpressibleByArgument {}

/// The options that choose waiting notifications.
struct WaitingFilterOptions: ParsableArguments {
    /// The longest age in minutes: a century.
    private static let longest: Double = 52_560_000

    @Option(help: "Only notifications of this client.")
    var client: String?

    @Option(help: "Only notifications that wait for this reason.")
    var reason: WaitingReason?

    @Option(
        help: ArgumentHelp("Only notifications that were read so many minutes ago, or earlier.", valueName: "minutes")
    )
    var olderThan: Double?

    /// Whether every notification is chosen.
    var choosesAll: Bool { self.client == nil && self.reason == nil && self.olderThan == nil }

    func validate() throws {
        guard let olderThan else { return }
        guard 0...Self.longest ~= olderThan else { throw ValidationError("--older-than is not 0 to 52560000 minutes.") }
    }

    /// The query of `GET /waiting` and `GET /waiting/sums`.
    func query(after place: String?, now: Date) -> String {
        let age = self.olderThan.map { $0 * 60 }
        return PageQuery.text(after: place, client: self.client, reason: self.reason?.rawValue, age: age, now: now)
    }
}

/// The command `ferry gateway waiting list`.
struct GatewayWaitingListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Lists the sums by client and reason, and then the notifications, one line each, without payloads."
    )

    @ParentCommand var gateway: GatewayCommand
    @OptionGroup var place: AdminSocketOptions
    @OptionGroup var filter: WaitingFilterOptions

    @Flag(help: "Print JSON: a line with all sums, then one object for each notification.")
    var json = false

    @Flag(help: "Print the sums alone.")
    var sums = false

    @Option(help: "The largest number of notifications; 0 for all.")
    var limit = 100

    func validate() throws {
        guard self.limit >= 0 else { throw ValidationError("--limit takes a number of notifications, or 0 for all.") }
    }

    func run() async throws {
        try await self.gateway.reportingFailure {
            let list = WaitingList(self.filter, limit: self.limit == 0 ? .max : self.limit, isJSON: self.json)
            let client = try self.place.client(of: self.gateway)
            try await list.ask(client, onlySums: self.sums) { try Console.printList($0) }
        }
    }
}

/// The output of `ferry gateway waiting list`.
struct WaitingList {
    private let filter: WaitingFilterOptions
    private let limit: Int
    private let isJSON: Bool
    private let now = Date.now

    /// - Parameter limit: the largest number of notifications.
    init(_ filter: WaitingFilterOptions, limit: Int, isJSON: Bool) {
        self.filter = filter
        self.limit = limit
        self.isJSON = isJSON
    }

    /// Asks for the sums and for the notifications, and prints their lines.
    func ask(_ client: AdminClient, onlySums: Bool, print: (String) throws -> Void) async throws {
        let sums = try await self.sums(client)
        try print(self.isJSON ? Self.line(WaitingSums(sums: sums)) : self.table(sums))
        guard !onlySums, !sums.isEmpty else { return }
        if !self.isJSON { try print("") }
        let shown = try await self.list(client, print)
        let rest = sums.reduce(0) { $0 + $1.count } - shown
        if !self.isJSON, shown == self.limit, rest > 0 { try print("and \(rest) more: --limit 0 shows all") }
    }

    /// The sums of all pages. A page covers the notifications that the gateway examines in some turns of its event
    /// loop.
    private func sums(_ client: AdminClient) async throws -> [WaitingSum] {
        var sums: [WaitingSum] = []
        var after: String?
        repeat {
            let path = "/waiting/sums\(self.filter.query(after: after, now: self.now))"
            let page = try AdminClient.decoded(WaitingSums.self, try await client.ask(.GET, path))
            sums.add(page.sums)
            after = page.next
        } while after != nil
        return sums
    }

    /// Prints the notifications, and returns their number.
    private func list(_ client: AdminClient, _ print: (String) throws -> Void) async throws -> Int {
        var (after, shown): (String?, Int) = (nil, 0)
        repeat {
            let path = "/waiting\(self.filter.query(after: after, now: self.now))"
            let page = try AdminClient.decoded(WaitingPage.self, try await client.ask(.GET, path))
            for row in page.notifications.prefix(self.limit - shown) {
                try print(self.isJSON ? Self.line(row) : Self.text(row))
                shown += 1
            }
            after = page.next
        } while after != nil && shown < self.limit
        return shown
    }

    // MARK: Lines

    private static func line(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }

    private func table(_ sums: [WaitingSum]) -> String {
        guard !sums.isEmpty else {
            return self.filter.choosesAll ? "Nothing waits for APNs." : "Nothing that waits matches."
        }
        var table = TextTable(
            rows: [["client", "why", "count", "oldest"]],
            alignment: [.left, .left, .right, .right]
        )
        for sum in sums {
            table.rows.append([
                Self.label(sum.client, sum.upstream), sum.reason.words, "\(sum.count)",
                StatusWords.duration(sum.oldestAge),
            ])
        }
        return table.description
    }

    private static func text(_ row: WaitingRow) -> String {
        let last = row.lastReason.map { " (\($0.printable))" } ?? ""
        let doubt = row.mayHaveArrived ? ", may have arrived" : ""
        let client = self.label(row.client, row.upstream)
        return "\(row.apnsID)  \(client)  \(row.reason.words)\(last)\(doubt)  \(StatusWords.duration(row.age))"
    }

    private static func label(_ client: String, _ upstream: String?) -> String {
        (upstream.map { "\(client) (\($0))" } ?? client).printable
    }
}
