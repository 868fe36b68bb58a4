internal import ArgumentParser
internal import Ferry
internal import FerryPlatform
internal import FerryTerminal
internal import Logging

/// The command `ferry feedback`.
struct FeedbackCommand: AsyncParsableCommand, SocketCommand {
    static let configuration = CommandConfiguration(
        commandName: "feedback",
        abstract: "Reads the list of devices that no longer have the app.",
        discussion: """
            Writes one line for each device, as it is read. Reading clears the list at Apple's, so keep the output. Drop \
            a token only if the device has not registered since.

            Exit status: 0, the list was read to its end, also if it was empty; 1, it was not, or had bad tuples; 2, bad \
            usage; 3, no connection, or refused credentials. Of several readings the worst counts: 1, then 3.

            With --every, SIGINT or SIGTERM ends the program; a reading that is under way is read to its end, and the \
            second signal closes it.

            Examples:
              ferry feedback --to feedback.example:2196 --p12 push.p12 --passphrase-file secret.txt
              ferry feedback --to localhost:2196 --ca ca.pem --cert client.pem --json --every 3600 >> gone.jsonl
              ferry feedback --config node-apn.json --to feedback.example:2196
            """
    )

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

    @OptionGroup(title: "Server")
    var server: ServerOptions

    @OptionGroup(title: "Credentials")
    var credentials: CredentialOptions

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Read again so long after the end of each reading.", valueName: "seconds")
    )
    var every: Seconds?

    @Option(
        help: ArgumentHelp(
            "Leave out what is older: 2020-03-31, 2020-03-31T12:00:00Z, or UNIX seconds.",
            valueName: "date"
        )
    )
    var since: Since?

    @Flag(
        help: #"Write JSON, one object a line: {"token":"00fc…","timestamp":1585656000,"date":"2020-03-31T12:00:00Z"}."#
    )
    var json = false

    @Option(parsing: .unconditional, help: ArgumentHelp("How long connecting may take.", valueName: "seconds"))
    var connectTimeout = Seconds(.seconds(10))

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "How long the service may say nothing before the list counts as not closed.",
            valueName: "seconds"
        )
    )
    var idleTimeout = Seconds(Self.usualIdleTimeout)

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("How long the service may take for the whole list.", valueName: "seconds")
    )
    var sweepTimeout = Seconds(.seconds(600))

    private static let usualIdleTimeout: Duration = .seconds(30)

    func validate() throws {
        // The file may supply the missing options, so they are checked once it was read.
        if self.config == nil {
            try self.server.validate(for: "read")
            try self.requireService(self.server.to?.host ?? self.appleService())
            try self.credentials.validatePassphrase()
        }
        try self.every?.validate("--every")
        try self.connectTimeout.validate("--connect-timeout")
        try self.idleTimeout.validate("--idle-timeout")
        try self.sweepTimeout.validate("--sweep-timeout")
    }

    func run() async throws {
        let configuration: FeedbackConfiguration
        do {
            configuration = try self.configuration()
        } catch let error as ValidationError {
            throw CommandFailure.usage(error.message)
        }
        let reader: FeedbackReader
        do {
            reader = try FeedbackReader(configuration)
        } catch {
            throw CommandFailure.usage(ConnectionAdvice.sentence(error))
        }
        let output = FileDescriptor(STDOUT_FILENO, isOwned: false)
        var run = FeedbackRun(reader: reader, hasIdentity: configuration.identity != nil) { line throws(FileFailure) in
            try output.write("\(line)\n")
        }
        run.since = self.since?.date
        run.isJSON = self.json
        run.repeats = configuration.interval != nil
        // A person who raises the limit knows already that the service is slow.
        if self.idleTimeout.duration <= Self.usualIdleTimeout {
            run.hint = """
                Nothing has come from \(Endpoint.text(configuration.host, configuration.port)) yet. A feedback service sends \
                its list at once, and ends it also if it is empty: check that this is its port. Reading goes on.
                """
        }
        let status = try await run.run()
        if status != .success { throw status }
    }

    var socketCount: Int { 1 }

    private func configuration() throws -> FeedbackConfiguration {
        let file = try NodeAPNFile.read(self.config, for: .feedback, commandLine: self.given)
        if self.config != nil { try self.validate(with: file) }
        var configuration = FeedbackConfiguration(
            host: self.server.to?.host ?? file.host ?? self.appleService(file),
            port: self.server.to?.port ?? file.port ?? FeedbackConfiguration.defaultPort,
            identity: try self.credentials.identity(or: file)?.usedWhenExpired()
        )
        configuration.logger = .silent
        if let roots = try self.server.trustRoots() ?? file.trustRoots() { configuration.trustRoots = roots }
        configuration.rejectUnauthorized = file.rejectUnauthorized ?? configuration.rejectUnauthorized
        configuration.serverName = self.server.serverName
        configuration.tlsVersions = self.server.tlsVersions(upTo: .tls12)
        configuration.tlsProfile = self.server.tlsProfile
        configuration.connectTimeout = self.connectTimeout.duration
        configuration.idleTimeout = self.idleTimeout.duration
        configuration.sweepTimeout = self.sweepTimeout.duration
        configuration.interval = self.every?.duration ?? file.interval?.limit
        return configuration
    }

    /// Checks that need the options of the file.
    private func validate(with file: NodeAPNSettings) throws {
        try self.server.validate(for: "read", or: file)
        try self.requireService(self.server.to?.host ?? file.host ?? self.appleService(file))
        if !file.hasIdentity { try self.credentials.validatePassphrase() }
    }

    private func appleService(_ file: NodeAPNSettings = NodeAPNSettings()) -> String {
        self.server.usesSandbox(or: file) ? FeedbackConfiguration.sandboxHost : FeedbackConfiguration.productionHost
    }

    /// Checks that the host is not one of Apple's, because Apple keeps no feedback list any more.
    private func requireService(_ host: String) throws {
        guard AppleHost(host) != nil else { return }
        let retirement = AppleHost.retirement(of: host) ?? "\(host) speaks HTTP/2, where there is no feedback list"
        throw ValidationError(
            "\(retirement): ferry push --backend http2 tells of a device that is gone by status 410 in --events. Or name a "
                + "feedback service that is not Apple's with --to HOST:PORT."
        )
    }

    /// The options of the command line that replace those of the file.
    private var given: Set<String> {
        Set(self.server.given + self.credentials.given + (self.every == nil ? [] : ["--every"]))
    }
}
