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

    @Option(help: ArgumentHelp("The service; an IPv6 address in brackets.", valueName: "host:port"))
    var to: Endpoint?

    @Flag(help: "Read from Apple's service for production, which Apple has switched off.")
    var production = false

    @Flag(help: "Read from Apple's service for development, which Apple has switched off.")
    var sandbox = false

    @Option(help: ArgumentHelp("Who may vouch for the service, in PEM form, if not the system's.", valueName: "file"))
    var ca: String?

    @Option(help: ArgumentHelp("The name the service's certificate must be for, if not its host.", valueName: "name"))
    var serverName: String?

    @Option(help: "The highest TLS version: 1.2 or 1.3.")
    var tlsMax = TLSMaximum.tls12

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
        if self.production, self.sandbox { throw ValidationError("--production and --sandbox exclude each other.") }
        if self.to != nil, self.production || self.sandbox {
            throw ValidationError("--to excludes --production and --sandbox.")
        }
        if self.to == nil, !self.production, !self.sandbox {
            throw ValidationError("Say where to read: --to HOST:PORT, --production or --sandbox.")
        }
        if self.to == nil, self.credentials.cert == nil, self.credentials.p12 == nil {
            throw ValidationError("Apple's services want a certificate: give --cert and --key, or --p12.")
        }
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
        let apple = self.sandbox ? FeedbackConfiguration.sandboxHost : FeedbackConfiguration.productionHost
        var configuration = FeedbackConfiguration(
            host: self.to?.host ?? apple,
            port: self.to?.port ?? FeedbackConfiguration.defaultPort,
            identity: try self.credentials.identity()
        )
        if let ca { configuration.trustRoots = .file(ca) }
        configuration.serverName = self.serverName
        configuration.tlsVersions = .tls12...self.tlsMax.version
        configuration.connectTimeout = self.connectTimeout.duration
        configuration.idleTimeout = self.idleTimeout.duration
        configuration.sweepTimeout = self.sweepTimeout.duration
        configuration.interval = self.every?.duration ?? .zero
        return configuration
    }
}
