internal import ArgumentParser
internal import FerryAdmin
internal import FerryCore
internal import FerryGateway
internal import FerryHTTP1
internal import FerryPlatform
internal import FerryTerminal

/// The command `ferry gateway letters`.
struct GatewayLettersCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "letters",
        abstract: "Lists, sends again or drops what a gateway could not deliver.",
        discussion: """
            A letter is a notification that the gateway does not send again by itself: it was given up, or it may have \
            arrived. The store keeps letters for 30 days, 100,000 or 256 MiB at most.

            Asks the gateway over its admin socket, as the user that runs it.

            Examples:
              ferry gateway letters list --config gateway.json --client shop
              ferry gateway letters show 00000000-0000-8001-8000-010000000001 --config gateway.json
              ferry gateway letters retry --reason InternalServerError --config gateway.json
              ferry gateway letters drop --older-than 7 --config gateway.json
            """,
        subcommands: [
            GatewayLettersListCommand.self, GatewayLettersShowCommand.self, GatewayLettersRetryCommand.self,
            GatewayLettersDropCommand.self,
        ]
    )
}

/// The options that name the admin socket of a gateway.
struct AdminSocketOptions: ParsableArguments {
    @OptionGroup var shown: ShownConfigOption

    @Option(help: ArgumentHelp("The socket of the admin service.", valueName: "path"))
    var socket: String?

    func client(of gateway: GatewayCommand) throws -> AdminClient {
        try AdminClient(socket: self.socket ?? gateway.adminSocket(orPort: false))
    }
}

/// The options that choose letters.
struct LetterFilterOptions: ParsableArguments {
    @Option(help: "Only letters of this client.")
    var client: String?

    @Option(help: "Only letters with this reason, such as InternalServerError.")
    var reason: String?

    @Option(help: ArgumentHelp("Only letters that ended so many days ago, or earlier.", valueName: "days"))
    var olderThan: Double?

    func validate() throws {
        guard let olderThan else { return }
        guard 0...36_500 ~= olderThan else { throw ValidationError("--older-than is not 0 to 36500 days.") }
    }

    var isEmpty: Bool { self.client == nil && self.reason == nil && self.olderThan == nil }

    /// The query of `GET /letters`.
    func query(after place: String?, now: Date) -> String {
        let age = self.olderThan.map { $0 * 86_400 }
        return PageQuery.text(after: place, client: self.client, reason: self.reason, age: age, now: now)
    }
}

/// The command `ferry gateway letters list`.
struct GatewayLettersListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Lists letters, one line each, without payloads."
    )

    @ParentCommand var gateway: GatewayCommand
    @OptionGroup var place: AdminSocketOptions
    @OptionGroup var filter: LetterFilterOptions

    @Flag(help: "Print one JSON object for each letter.")
    var json = false

    @Option(help: "The largest number of letters; 0 for all.")
    var limit = 100

    func validate() throws {
        guard self.limit >= 0 else { throw ValidationError("--limit takes a number of letters, or 0 for all.") }
    }

    func run() async throws {
        try await self.gateway.reportingFailure {
            let client = try self.place.client(of: self.gateway)
            let now = Date.now
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            var (after, left): (String?, Int) = (nil, self.limit == 0 ? .max : self.limit)
            repeat {
                let page = try await client.letters(self.filter.query(after: after, now: now))
                for letter in page.letters.prefix(left) {
                    let line =
                        self.json
                        ? String(decoding: try encoder.encode(letter), as: UTF8.self) : letter.line(now: now)
                    try Console.print(line)
                }
                left -= min(left, page.letters.count)
                after = page.next
            } while after != nil && left > 0
        }
    }
}

/// The command `ferry gateway letters show`.
struct GatewayLettersShowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Prints a letter with its payload, as one JSON object."
    )

    @ParentCommand var gateway: GatewayCommand
    @OptionGroup var place: AdminSocketOptions

    @Argument(help: ArgumentHelp("The apns-id of the letter.", valueName: "apns-id"))
    var id: String

    func validate() throws { try APNSID.check(self.id) }

    func run() async throws {
        try await self.gateway.reportingFailure {
            let body = try await self.place.client(of: self.gateway).ask(
                .GET,
                "/letter?id=\(HTTPURL.encoded(self.id))"
            )
            try Console.print(String(decoding: body, as: UTF8.self))
        }
    }
}

/// The command `ferry gateway letters retry`.
struct GatewayLettersRetryCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "retry",
        abstract: "Sends letters again, each with its apns-id.",
        discussion: "A letter that may have arrived before may arrive twice. The command says how many may."
    )

    @ParentCommand var gateway: GatewayCommand
    @OptionGroup var place: AdminSocketOptions
    @OptionGroup var change: LetterChangeOptions

    func run() async throws {
        try await self.gateway.reportingFailure {
            let changes = await self.change.carryOut(
                "/letters/retry",
                try self.place.client(of: self.gateway)
            )
            try Console.print("sent again: \(changes.summary)")
            if changes.doubtful > 0 {
                try Console.print("\(changes.doubtful) of them may have arrived before: those arrive twice.")
            }
            try changes.reportFailure()
        }
    }
}

/// The command `ferry gateway letters drop`.
struct GatewayLettersDropCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "drop",
        abstract: "Removes letters. Nobody delivers them any more."
    )

    @ParentCommand var gateway: GatewayCommand
    @OptionGroup var place: AdminSocketOptions
    @OptionGroup var change: LetterChangeOptions

    func run() async throws {
        try await self.gateway.reportingFailure {
            let changes = await self.change.carryOut(
                "/letters/drop",
                try self.place.client(of: self.gateway)
            )
            try Console.print("dropped: \(changes.summary)")
            try changes.reportFailure()
        }
    }
}

/// The letters that a command changes.
struct LetterChangeOptions: ParsableArguments {
    @Argument(help: ArgumentHelp("The apns-ids of the letters.", valueName: "apns-id"))
    var ids: [String] = []

    @OptionGroup var filter: LetterFilterOptions

    @Flag(help: "All letters.")
    var all = false

    func validate() throws {
        guard [!self.ids.isEmpty, !self.filter.isEmpty, self.all].count(where: \.self) == 1 else {
            throw ValidationError("Give apns-ids, or --client, --reason and --older-than, or --all.")
        }
        for id in self.ids { try APNSID.check(id) }
    }

    /// The largest number of letters that one request changes. More would delay the gateway's answers to clients.
    private static let changeLimit = 100

    /// Changes the letters, in several requests if need be. Stops at the first failure.
    ///
    /// - Parameter sleep: waits between requests. A test does not wait.
    func carryOut(
        _ path: String,
        _ client: AdminClient,
        sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    ) async -> LetterChanges {
        var requests = LetterRequests(path, client, sleep: sleep)
        var changes = LetterChanges()
        do {
            if self.ids.isEmpty {
                try await self.changeChosen(&requests, &changes)
            } else {
                try await self.changeNamed(&requests, &changes)
            }
        } catch {
            changes.failure = error
        }
        return changes
    }

    private func changeNamed(_ requests: inout LetterRequests, _ changes: inout LetterChanges) async throws {
        var rest = self.ids[...]
        while !rest.isEmpty {
            let ids = Array(rest.prefix(Self.changeLimit))
            rest = rest.dropFirst(ids.count)
            var doubts: Set<String> = []
            for id in ids {
                guard let row = try await requests.letter(id), row.mayHaveArrived else { continue }
                doubts.insert(id)
            }
            for (id, result) in zip(ids, try await requests.change(ids)) {
                changes.note(result, mayHaveArrived: doubts.contains(id))
            }
        }
    }

    private func changeChosen(_ requests: inout LetterRequests, _ changes: inout LetterChanges) async throws {
        let now = Date.now
        var after: String?
        repeat {
            let page = try await requests.letters(self.filter.query(after: after, now: now))
            after = page.next
            // A letter that ends after the command began is not among those that the operator has seen.
            let letters = page.letters.filter { Double($0.endedAt) <= now.timeIntervalSince1970 }
            var rest = letters[...]
            while !rest.isEmpty {
                let part = rest.prefix(Self.changeLimit)
                rest = rest.dropFirst(part.count)
                for (letter, result) in zip(part, try await requests.change(part.map(\.apnsID))) {
                    changes.note(result, mayHaveArrived: letter.mayHaveArrived)
                }
            }
        } while after != nil
    }
}

extension APNSID {
    /// Throws an error of usage that names the text, if it is no `apns-id`. Otherwise the gateway would look for each of the
    /// other letters before it refused this one.
    fileprivate static func check(_ text: String) throws {
        guard self.parse(text.utf8) == nil else { return }
        throw ValidationError(
            "'\(text.printable)' is not an apns-id, which has 32 hexadecimal digits in groups of 8-4-4-4-12."
        )
    }
}

extension LetterRow {
    fileprivate func line(now: Date) -> String {
        let age = Int(max(now.timeIntervalSince1970 - Double(self.endedAt), 0))
        let doubt = self.mayHaveArrived ? "may have arrived" : "not delivered"
        let client = self.upstream.map { "\(self.client) (\($0))" } ?? self.client
        return "\(self.apnsID)  \(client.printable)  \(self.reason.printable)  \(doubt)  \(age / 3600) h ago"
    }
}

extension AdminClient {
    fileprivate func letters(_ query: String) async throws -> LetterPage {
        try Self.decoded(LetterPage.self, try await self.ask(.GET, "/letters\(query)"))
    }

    /// Returns nil if there is no such letter.
    fileprivate func letter(_ id: String) async throws -> LetterRow? {
        let path = "/letter?id=\(HTTPURL.encoded(id))"
        let response = try await self.response(.GET, path)
        guard response.status != 404 else { return nil }
        return try Self.decoded(LetterRow.self, try Self.body(of: response))
    }
}

/// The requests of a command that changes letters. After a change, the next request waits for three times as long as the
/// change took. A long command so leaves the gateway three quarters of its time for clients.
private struct LetterRequests {
    private let path: String
    private let client: AdminClient
    private let sleep: @Sendable (Duration) async throws -> Void
    /// The time to wait before the next request; nil if the last request was not a change.
    private var pause: Duration?

    init(_ path: String, _ client: AdminClient, sleep: @escaping @Sendable (Duration) async throws -> Void) {
        self.path = path
        self.client = client
        self.sleep = sleep
    }

    mutating func letters(_ query: String) async throws -> LetterPage {
        try await self.rest()
        return try await self.client.letters(query)
    }

    /// Returns nil if there is no such letter.
    mutating func letter(_ id: String) async throws -> LetterRow? {
        try await self.rest()
        return try await self.client.letter(id)
    }

    mutating func change(_ ids: [String]) async throws -> [LetterResult] {
        try await self.rest()
        let body = ids.map { "\($0)\n" }.joined()
        let begin = ContinuousClock.now
        let answer = try await self.client.ask(.POST, self.path, Array(body.utf8))
        self.pause = begin.duration(to: .now) * 3
        return try AdminClient.decoded([LetterResult].self, answer)
    }

    private mutating func rest() async throws {
        guard let pause else { return }
        self.pause = nil
        try await self.sleep(pause)
    }
}
