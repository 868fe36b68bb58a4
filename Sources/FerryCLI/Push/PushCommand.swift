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
        help: ArgumentHelp("The gateway, its port 1 to 65535; an IPv6 address in brackets.", valueName: "host:port")
    )
    var to: Endpoint?

    @Flag(help: "Send to Apple's gateway for production, which Apple has switched off.")
    var production = false

    @Flag(help: "Send to Apple's gateway for development, which Apple has switched off.")
    var sandbox = false

    @Option(help: ArgumentHelp("Who may vouch for the gateway, in PEM form, if not the system's.", valueName: "file"))
    var ca: String?

    @Option(help: ArgumentHelp("The name the gateway's certificate must be for, if not its host.", valueName: "name"))
    var serverName: String?

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

    @Option(help: "The highest TLS version: 1.2 or 1.3.")
    var tlsMax = TLSMaximum.tls12

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("How long to wait for outcomes once everything was read.", valueName: "seconds")
    )
    var drainLimit = Seconds(.seconds(600))

    func validate() throws {
        if self.backend != .binary {
            throw ValidationError("There is no backend \(self.backend.rawValue) yet; use --backend binary.")
        }
        if self.production, self.sandbox { throw ValidationError("--production and --sandbox exclude each other.") }
        if self.to != nil, self.production || self.sandbox {
            throw ValidationError("--to excludes --production and --sandbox.")
        }
        if self.to == nil, !self.production, !self.sandbox {
            throw ValidationError("Say where to send: --to HOST:PORT, --production or --sandbox.")
        }
        if let rate, !(rate >= 0.01 && rate <= 1e9) { throw ValidationError("--rate takes 0.01 to 1000000000.") }
        try self.drainLimit.validate("--drain-limit", isZeroGood: true)
        if self.to == nil, self.credentials.cert == nil, self.credentials.p12 == nil {
            throw ValidationError("Apple's gateways want a certificate: give --cert and --key, or --p12.")
        }
    }

    func run() async throws {
        let configuration = try self.configuration()
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

    private func configuration() throws -> BinaryConfiguration {
        let identity = try self.credentials.identity()
        if let topic {
            guard (try? PushNotification(json: "{}".utf8, topic: topic)) != nil else {
                throw CommandFailure.usage("The topic is not 1 to 255 visible ASCII characters.")
            }
        }
        let apple = self.sandbox ? BinaryConfiguration.sandboxHost : BinaryConfiguration.productionHost
        var configuration = BinaryConfiguration(
            host: self.to?.host ?? apple,
            port: self.to?.port ?? BinaryConfiguration.defaultPort,
            identity: identity
        )
        if let ca { configuration.trustRoots = .file(ca) }
        configuration.serverName = self.serverName
        configuration.tlsVersions = .tls12...self.tlsMax.version
        configuration.options = self.binary.options
        return configuration
    }
}
