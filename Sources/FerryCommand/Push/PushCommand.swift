internal import ArgumentParser
internal import Ferry
internal import FerryOptions
internal import FerryTerminal

/// The command `ferry push`.
struct PushCommand: AsyncParsableCommand, SocketCommand {
    static let configuration = CommandConfiguration(
        commandName: "push",
        abstract: "Sends notifications from a file of JSON lines, or one payload to a file of device tokens.",
        discussion: """
            A line is one JSON object; the payload goes out byte for byte as it stands:
              {"token":"00fc…","payload":{"aps":{"alert":"Hello"}},"ref":"order 7"}
            It may have topic, pushType, priority, expiration, collapseId and apnsId, too. What stands at ref, any JSON \
            value, comes back in --events. A bad line is named on standard error and left out; over HTTP/2 that is also \
            one that APNs would refuse.

            The first SIGINT, SIGTERM or SIGHUP stops reading and waits up to 30 seconds for outcomes, the second does not wait. \
            If there was more to read, the last line that was sent is named on standard error, and the status is 1.

            Examples:
              ferry push lines.jsonl --to gateway.example:2195 \\
                --p12 push.p12 --passphrase-file secret.txt
              ferry push lines.jsonl --backend http2 --production --topic com.example.app \\
                --p8 AuthKey_ABCDE12345.p8 --key-id ABCDE12345 --team-id FGHIJ67890
              ferry push - --to localhost:2195 --ca ca.pem --cert client.pem --json
              ferry push --tokens tokens.txt --payload payload.json --backend http2 --production \\
                --topic com.example.app --p8 AuthKey_ABCDE12345.p8 --key-id ABCDE12345 --team-id FGHIJ67890
              ferry push lines.jsonl --config node-apn.json --dry-run
              ferry push lines.jsonl --backend migrate --share 10 --binary-to gateway.example:2195 \\
                --binary-p12 push.p12 --production --topic com.example.app \\
                --p8 AuthKey_ABCDE12345.p8 --key-id ABCDE12345 --team-id FGHIJ67890
            """
    )

    enum Backend: String, ExpressibleByArgument, CaseIterable {
        case binary, http2, migrate
    }

    @Argument(help: "The file of lines; - is standard input.")
    var file: String?

    @Option(
        help: ArgumentHelp(
            "Send --payload to the device tokens of a file, one in each line; - is standard input.",
            valueName: "file"
        )
    )
    var tokens: String?

    @Option(help: ArgumentHelp("The file of the payload for --tokens, a JSON object.", valueName: "file"))
    var payload: String?

    @Option(help: "How to send: the binary protocol, HTTP/2, or both while devices move from the one to the other.")
    var backend = Backend.binary

    @Option(
        help: ArgumentHelp(
            """
            The options object of a program that uses node-apn 1.x, in JSON. What each option becomes is said on \
            standard error; options of the command line count in place of the file's.
            """,
            valueName: "file"
        )
    )
    var config: String?

    @Flag(help: "Read --config, the credentials and every line, say what is wrong with them, and send nothing.")
    var dryRun = false

    @OptionGroup(title: "Server")
    var server: ServerOptions

    @OptionGroup(title: "Credentials")
    var credentials: CredentialOptions

    @OptionGroup(title: "Provider token, with --backend http2")
    var token: ProviderTokenOptions

    @OptionGroup
    var topicOption: OptionArguments<TopicSection>

    @OptionGroup(title: "Connections")
    var connections: OptionArguments<ConnectionSection>

    @OptionGroup(title: "Binary protocol")
    var binary: OptionArguments<BinarySection>

    @OptionGroup(title: "HTTP/2")
    var http2: OptionArguments<HTTP2Section>

    @OptionGroup(title: "HTTP/2")
    var proxy: ProxyOptions

    @OptionGroup(title: "Migration, with --backend migrate")
    var migration: OptionArguments<MigrationSection>

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("How many notifications to send a second, at most.", valueName: "n")
    )
    var rate: Double?

    @Option(
        help: ArgumentHelp(
            """
            Where one JSON line goes for each outcome; - is standard output, and standard error then gets the summary. \
            A line has ref, token, apnsId over HTTP/2, outcome (accepted, rejected, \
            expired, undelivered, uncertain), proof of an acceptance (confirmed, presumed), reason, status, timestamp, \
            origin. Late news of an outcome \
            that was wrong has "event":"contradicted" in place of an outcome.
            """,
            valueName: "file"
        )
    )
    var events: String?

    @Flag(help: "End at the first bad line, with status 2, once what was read has its outcome.")
    var strict = false

    @Flag(help: "Print the summary as one JSON object.")
    var json = false

    @Flag(name: .shortAndLong, help: "Say on standard error what happens.")
    var verbose = false

    @OptionGroup var progress: ProgressOptions

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("How long to wait for outcomes once everything was read.", valueName: "seconds")
    )
    var drainLimit = Seconds(.seconds(600))

    /// Checks that the options fit together. This is not `validate()`, which would run before a misspelt option is
    /// reported.
    private func check() throws {
        switch self.backend {
        case .binary: try self.validateBinary()
        case .http2: try self.validateHTTP2()
        case .migrate: try self.validateMigration()
        }
        if self.backend != .migrate { try self.refuse(self.migration.given, of: .migrate) }
        switch (self.tokens, self.payload) {
        case (nil, nil): break
        case (nil, _?): throw ValidationError("--payload needs --tokens, the file of the device tokens.")
        case (_?, nil): throw ValidationError("--tokens needs --payload, the file of the payload.")
        case (_?, _?):
            guard self.file == nil else { throw ValidationError("Give a file of lines, or --tokens and --payload.") }
        }
        if let rate, !(rate >= 0.01 && rate <= 1e9) { throw ValidationError("--rate takes 0.01 to 1000000000.") }
        try self.drainLimit.validate("--drain-limit", isZeroGood: true)
    }

    func run() async throws {
        let backend: PushBackend
        do {
            try self.check()
            backend = try self.backendToUse()
            try FileDescriptorLimit.require(sockets: backend.connectionLimit)
        } catch let error as ValidationError {
            throw CommandFailure.usage(error.message)
        }
        let payload = try self.payload.map { try PayloadFile.read($0, for: backend) }
        if self.dryRun {
            // Making a provider finds the faults that show before a connection.
            _ = try backend.makeProvider(.discard)
            return try await self.runDry(backend, payload)
        }
        var run = PushRun(backend: backend, input: try self.input())
        run.payload = payload
        run.events = self.events
        run.proof = self.binary.proof
        run.drainLimit = self.drainLimit.duration
        run.isStrict = self.strict
        run.rate = self.rate
        run.isVerbose = self.verbose
        // Each event is a line of its own with --verbose.
        run.progress = self.verbose ? nil : self.progress.display
        let result = try await run.run()
        var status = result.status
        var complaints = result.complaints
        do throws(CommandFailure) {
            let summary = self.json ? result.summary.json : result.summary.text
            if self.events == EventsFile.standardOutput { Console.error(summary) } else { try Console.print(summary) }
        } catch {
            status = max(status, error.status)
            complaints.append(error.message)
        }
        if !self.json, let causes = result.causes { Console.error(causes) }
        for complaint in complaints { Console.error("ferry: \(complaint)") }
        if status != .success { throw status }
    }

    private func runDry(_ backend: PushBackend, _ payload: [UInt8]?) async throws {
        // Without a file the user wants to check only the configuration, so the run must not wait for the terminal.
        if self.inputPath == "-", Console.isInputTerminal { return Console.error(DryRun.nothingSent) }
        let lines = LineInspector(
            try self.input(),
            topic: backend.topic,
            payload: payload,
            check: backend.check,
            isStrict: self.strict,
            say: { Console.error($0) }
        )
        var run = DryRun(lines)
        await run.run()
        for sentence in run.sentences { Console.error(sentence) }
        if run.status != .success { throw run.status }
    }

    private var inputPath: String { self.tokens ?? self.file ?? "-" }

    private func input() throws -> LineReader {
        do {
            return try LineReader(path: self.inputPath)
        } catch {
            throw CommandFailure.usage("The input cannot be read: \(error)")
        }
    }

    /// Reads the credentials and the configuration.
    private func backendToUse() throws -> PushBackend {
        if let topic {
            guard (try? PushNotification(json: "{}".utf8, topic: topic)) != nil else {
                throw CommandFailure.usage("The topic is not 1 to 255 visible ASCII characters.")
            }
        }
        return switch self.backend {
        case .http2: .http2(try self.http2Configuration())
        case .binary: .binary(try self.binaryConfiguration(), topic: self.topic)
        case .migrate: .migrating(try self.migratingConfiguration())
        }
    }

    var topic: String? { self.topicOption.text("topic") }

    // The number of connections from the command line. A configuration may set more.
    var socketCount: Int { self.connections["connections"]?.count ?? 1 }

    /// Refuses options that belong to another backend.
    func refuse(_ options: [String], of other: Backend) throws {
        guard !options.isEmpty else { return }
        let (have, they) = options.count == 1 ? ("has", "it needs") : ("have", "they need")
        throw ValidationError(
            "\(options.listed) \(have) no meaning with --backend \(self.backend.rawValue); \(they) --backend "
                + "\(other.rawValue)."
        )
    }
}
