internal import ArgumentParser
internal import Ferry

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#else
internal import Darwin
#endif

/// `ferry feedback`
struct FeedbackCommand: AsyncParsableCommand {
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
            """
    )

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
    var idleTimeout = Seconds(.seconds(30))

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("How long the service may take for the whole list.", valueName: "seconds")
    )
    var sweepTimeout = Seconds(.seconds(600))

    func validate() throws {
        try self.credentials.validatePassphrase()
        try self.server.validate(for: "read", self.credentials)
        try self.every?.validate("--every")
        try self.connectTimeout.validate("--connect-timeout")
        try self.idleTimeout.validate("--idle-timeout")
        try self.sweepTimeout.validate("--sweep-timeout")
    }

    func run() async throws {
        let configuration = try self.configuration()
        let reader: FeedbackReader
        do {
            reader = try FeedbackReader(configuration)
        } catch {
            throw CommandFailure.usage(ConnectionAdvice.sentence(error))
        }
        let output = FileDescriptor(STDOUT_FILENO, isOwned: false)
        var run = FeedbackRun(reader: reader, hasIdentity: configuration.identity != nil) { line throws(FileFailure) in
            let bytes = Array("\(line)\n".utf8)
            let result = bytes.withUnsafeBytes { bytes in
                Result { () throws(FileFailure) in try output.writeAll(bytes) }
            }
            try result.get()
        }
        run.since = self.since?.seconds ?? 0
        run.isJSON = self.json
        run.repeats = self.every != nil
        let status = try await run.run()
        if status != .success { throw status }
    }

    private func configuration() throws -> FeedbackConfiguration {
        let apple = self.server.sandbox ? FeedbackConfiguration.sandboxHost : FeedbackConfiguration.productionHost
        var configuration = FeedbackConfiguration(
            host: self.server.to?.host ?? apple,
            port: self.server.to?.port ?? FeedbackConfiguration.defaultPort,
            identity: try self.credentials.identity()
        )
        if let ca = self.server.ca { configuration.trustRoots = .file(ca) }
        configuration.serverName = self.server.serverName
        configuration.tlsVersions = self.server.tlsVersions(upTo: .tls12)
        configuration.tlsProfile = self.server.tlsProfile.profile
        configuration.connectTimeout = self.connectTimeout.duration
        configuration.idleTimeout = self.idleTimeout.duration
        configuration.sweepTimeout = self.sweepTimeout.duration
        configuration.interval = self.every?.duration ?? .zero
        return configuration
    }
}
