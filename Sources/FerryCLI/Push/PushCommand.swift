internal import ArgumentParser
internal import Ferry

/// `ferry push`
struct PushCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "push",
        abstract: "Sends notifications from a file of JSON lines.",
        discussion: """
            A line is one JSON object; the payload goes out byte for byte as it stands:
              {"token":"00fc…","payload":{"aps":{"alert":"Hello"}},"ref":"order 7"}
            It may have topic, pushType, priority, expiration, collapseId and apnsId, too. What stands at ref, any JSON \
            value, comes back in --events. A bad line is named on standard error and left out.

            The first SIGINT, SIGTERM or SIGHUP stops reading and waits up to 30 seconds for outcomes, the second does not wait. \
            If there was more to read, the last line that was sent is named on standard error, and the status is 1.

            Examples:
              ferry push lines.jsonl --to gateway.example:2195 \\
                --p12 push.p12 --passphrase-file secret.txt
              ferry push - --to localhost:2195 --ca ca.pem --cert client.pem --json
              ferry push lines.jsonl --config node-apn.json --dry-run
            """
    )

    enum Backend: String, ExpressibleByArgument, CaseIterable {
        case binary, http2, migrate

        /// What does not exist yet is refused with a sentence of its own, and not offered.
        static var allValueStrings: [String] { [Self.binary.rawValue] }
    }

    enum ProofOption: String, ExpressibleByArgument, CaseIterable {
        case silence, probe
    }

    @Argument(help: "The file of lines; - is standard input.")
    var file = "-"

    @Option(help: "How to send. Only binary exists so far.")
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

    @Flag(help: "Read --config and the credentials, say what is wrong with them, and send nothing.")
    var dryRun = false

    @OptionGroup(title: "Server")
    var server: ServerOptions

    @OptionGroup(title: "Credentials")
    var credentials: CredentialOptions

    @Option(help: "The topic of lines that name none.")
    var topic: String?

    @OptionGroup(title: "Binary protocol")
    var binary: BinaryOptionGroup

    @Option(help: "How the last acceptances are found out: by silence, or by a probe.")
    var proof = ProofOption.silence

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("How many notifications to send a second, at most.", valueName: "n")
    )
    var rate: Double?

    @Option(
        help: ArgumentHelp(
            """
            Where one JSON line goes for each outcome: ref, token, outcome (accepted, rejected, expired, undelivered, \
            uncertain), proof of an acceptance (confirmed, presumed), reason, status, origin. Late news of an outcome \
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

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("How long to wait for outcomes once everything was read.", valueName: "seconds")
    )
    var drainLimit = Seconds(.seconds(600))

    func validate() throws {
        if self.backend != .binary {
            throw ValidationError("There is no backend \(self.backend.rawValue) yet; use --backend binary.")
        }
        // With a file, only the file can tell.
        if self.config == nil {
            try self.credentials.validatePassphrase()
            try self.server.validate(for: "send", self.credentials)
        }
        if let rate, !(rate >= 0.01 && rate <= 1e9) { throw ValidationError("--rate takes 0.01 to 1000000000.") }
        try self.drainLimit.validate("--drain-limit", isZeroGood: true)
    }

    func run() async throws {
        let configuration = try self.configuration()
        if self.dryRun { return try Self.check(configuration) }
        var run = PushRun(configuration: configuration, input: try self.input())
        run.events = self.events
        run.proof = self.proof == .probe ? .probe : .silence
        run.drainLimit = self.drainLimit.duration
        run.isStrict = self.strict
        run.rate = self.rate
        run.topic = self.topic
        run.isVerbose = self.verbose
        run.showsProgress = Console.isTerminal && !self.verbose
        let result = try await run.run()
        var status = result.status
        var complaints = result.complaints
        do throws(CommandFailure) {
            try Console.print(self.json ? result.summary.json : result.summary.table)
        } catch {
            status = max(status, error.status)
            complaints.append(error.message)
        }
        for complaint in complaints { Console.error("ferry: \(complaint)") }
        if status != .success { throw status }
    }

    private func input() throws -> LineReader {
        do {
            return try LineReader(path: self.file)
        } catch {
            throw CommandFailure.usage("The input cannot be read: \(error)")
        }
    }

    /// Finds out what can be wrong before a connection is made.
    private static func check(_ configuration: BinaryConfiguration) throws(CommandFailure) {
        do {
            _ = try BinaryProvider(configuration)
        } catch {
            throw .usage(ConnectionAdvice.sentence(error))
        }
        Console.error("nothing was sent: this was a dry run")
    }

    private func configuration() throws -> BinaryConfiguration {
        if let topic {
            guard (try? PushNotification(json: "{}".utf8, topic: topic)) != nil else {
                throw CommandFailure.usage("The topic is not 1 to 255 visible ASCII characters.")
            }
        }
        let file = try self.config.map { try NodeAPNFile.read($0, commandLine: self.given) } ?? NodeAPNSettings()
        var configuration = try self.place(file)
        if let ca = self.server.ca { configuration.trustRoots = .file(ca) }
        configuration.serverName = self.server.serverName
        configuration.tlsVersions = self.server.tlsVersions
        configuration.rejectUnauthorized = file.rejectUnauthorized ?? configuration.rejectUnauthorized
        configuration.options = BinaryOptionGroup.defaults
        file.apply(to: &configuration.options)
        self.binary.apply(to: &configuration.options)
        return configuration
    }

    /// Where to send, as whom, and who vouches for the gateway.
    private func place(_ file: NodeAPNSettings) throws -> BinaryConfiguration {
        guard self.server.namesServer || file.namesServer else {
            throw ValidationError(
                "Say where to send: --to HOST:PORT, --production, --sandbox, or address or production in --config."
            )
        }
        if !file.hasIdentity { try self.credentials.validatePassphrase() }
        let apple =
            self.server.sandbox || !self.server.production && file.production == false
            ? BinaryConfiguration.sandboxHost : BinaryConfiguration.productionHost
        var configuration = BinaryConfiguration(
            host: self.server.to?.host ?? file.host ?? apple,
            port: self.server.to?.port ?? file.port ?? BinaryConfiguration.defaultPort
        )
        do {
            configuration.identity =
                try self.credentials.identity()
                ?? file.identity(passphrase: self.credentials.passphrase())
            if let roots = try file.trustRoots() { configuration.trustRoots = roots }
        } catch let error as TLSError {
            throw CommandFailure.usage(ConnectionAdvice.sentence(error))
        }
        if self.server.to == nil, file.host == nil, configuration.identity == nil {
            throw ValidationError(ServerOptions.missingCertificate)
        }
        return configuration
    }

    /// The options of the command line that count in place of the file's.
    private var given: Set<String> {
        let options: [(String, Bool)] = [
            ("--to", self.server.to != nil), ("--production", self.server.production),
            ("--sandbox", self.server.sandbox), ("--ca", self.server.ca != nil),
            ("--cert", self.credentials.cert != nil), ("--p12", self.credentials.p12 != nil),
            ("--passphrase-file", self.credentials.passphraseFile != nil),
            ("--cache-length", self.binary.cacheLength != nil),
            ("--auto-adjust", self.binary.autoAdjust == true),
            ("--no-auto-adjust", self.binary.autoAdjust == false),
            ("--connections", self.binary.connections != nil),
            ("--connect-timeout", self.binary.connectTimeout != nil),
            ("--connection-retry-limit", self.binary.connectionRetryLimit != nil),
        ]
        return Set(options.lazy.filter(\.1).map(\.0))
    }
}
