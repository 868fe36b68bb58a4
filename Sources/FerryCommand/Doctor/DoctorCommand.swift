internal import ArgumentParser
internal import FerryDoctor
internal import FerryHTTP1
internal import FerryOpenSSL
internal import FerryTerminal

/// The command `ferry doctor`.
struct DoctorCommand: AsyncParsableCommand, SocketCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Finds out why a gateway, or a receiver of App Store notifications, fails, and says what to do.",
        discussion: """
            Looks at a host, at credentials, or at both together, and prints a line for each thing it looked at: ok, \
            warning or fault, and the cure. Of a host it looks at addresses, port, TLS versions, certificate and trust, \
            at what it says to the client's certificate, and at whether it speaks HTTP/2. Nothing is sent but TLS \
            handshakes and the SETTINGS of HTTP/2. A feedback service takes even that for a reading, and clears its \
            list: look at it without a certificate.

            A URL is that of a receiver of App Store Server Notifications, Ferry's or another. It gets a GET and two \
            forged notifications, of 5 and 19 KB, which a correct receiver refuses. --ca, --timeout and --json fit a URL.

            Exit status: 0, no fault; 1, faults of the credentials; 2, bad usage, or a file that cannot be read; 3, no \
            connection that could be used, refused credentials, or a receiver that would lose notifications of Apple or \
            take those of others.

            Examples:
              ferry doctor gateway.example:2195 --p12 push.p12 --passphrase-file secret.txt
              ferry doctor api.push.apple.com:443
              ferry doctor localhost:2197 --ca tls/ca.pem \\
                --p8 tls/token-key.p8 --key-id FERRYKEY01 --team-id FERRYTEAM1
              ferry doctor --cert push.pem --key key.pem --environment production
              ferry doctor --p8 AuthKey_ABCDE12345.p8 --key-id ABCDE12345 --team-id FGHIJ67890
              ferry doctor --config node-apn.json
              ferry doctor --gateway gateway.json
              ferry doctor https://example.com/app-store/notifications
            """
    )

    enum EnvironmentOption: String, ExpressibleByArgument, CaseIterable {
        case sandbox, production

        var environment: CertificateSummary.Environment { self == .sandbox ? .sandbox : .production }
    }

    enum Section: TLSSection {
        static let arguments = OptionArgument.named("ca", "serverName", "tlsProfile")
    }

    @Argument(
        help: ArgumentHelp(
            "The server; an IPv6 address in brackets. Or the URL of a receiver of App Store Server Notifications.",
            valueName: "host:port|url"
        )
    )
    var target: DoctorTarget?

    @Option(
        help: ArgumentHelp(
            """
            The options object of a program that uses node-apn 1.x, in JSON: where it connects and who it is there. \
            Options of the command line count in place of the file's.
            """,
            valueName: "file"
        )
    )
    var config: String?

    @Option(
        help: ArgumentHelp(
            "The configuration of 'ferry gateway': each of its upstreams with its credentials and its proxy.",
            valueName: "file"
        )
    )
    var gateway: String?

    @OptionGroup
    var server: OptionArguments<Section>

    @Flag(
        name: .customLong("http2"),
        help: "The server must speak HTTP/2. That of Apple must anyway, and on port 443 or 2197 it is offered."
    )
    var http2 = false

    @OptionGroup(title: "Credentials")
    var credentials: CredentialOptions

    @OptionGroup(title: "Provider token")
    var token: TokenKeyOptions

    @OptionGroup(title: "Proxy")
    var proxy: ProxyOptions

    @Option(help: "What the certificate must be good for, if the host's or the server's name does not tell.")
    var environment: EnvironmentOption?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "How long each step may take: resolver, connection, handshake, a receiver's answer.",
            valueName: "seconds"
        )
    )
    var timeout = Seconds(.seconds(10))

    @Flag(help: "Print one JSON object.")
    var json = false

    func validate() throws {
        try self.timeout.validate("--timeout")
        if self.gateway != nil { return try self.validateGateway() }
        if case .receiver(let url) = self.target { return try self.validateReceiver(url) }
        // The file may supply the missing options, so they are checked once it was read.
        if self.config == nil { try self.validate(host: self.host, hasCertificate: self.credentials.areGiven) }
    }

    // The probe makes its connections one after the other. Without a host it makes no connection.
    var socketCount: Int { 1 }

    /// The server; nil if the target is a receiver or missing.
    private var host: Endpoint? {
        get { if case .host(let endpoint) = self.target { endpoint } else { nil } }
        set { self.target = newValue.map { .host($0) } }
    }

    private func validate(host: Endpoint?, hasCertificate: Bool) throws {
        if !hasCertificate { try self.credentials.validatePassphrase() }
        if host == nil, !hasCertificate, !self.token.areGiven {
            throw ValidationError("Say what to look at: HOST:PORT, a URL, --cert, --p12 or --p8, or those in --config.")
        }
        if !hasCertificate, self.environment != nil {
            throw ValidationError("--environment needs --cert or --p12.")
        }
        if host == nil, self.server.isGiven("ca") || self.server.serverName != nil || self.http2 {
            throw ValidationError("--ca, --server-name and --http2 need HOST:PORT.")
        }
        if host == nil, self.proxy.isGiven("proxy") { throw ValidationError("--proxy needs HOST:PORT.") }
    }

    func run() async throws {
        var subject = self
        do {
            if let gateway { return try await self.examineGateway(gateway) }
            if case .receiver(let url) = self.target {
                return try await self.examine(url.get())
            }
            let file = try subject.readConfiguration()
            try await subject.examine(file)
        } catch let error as ValidationError {
            throw CommandFailure.usage(error.message)
        }
    }

    /// Reads the file of --config. Takes ``host`` from it, unless the command line names one.
    private mutating func readConfiguration() throws -> NodeAPNSettings {
        guard let config else { return NodeAPNSettings() }
        let given = Set(self.credentials.given + self.server.given + (self.host == nil ? [] : ["HOST:PORT"]))
        let file = try NodeAPNFile.read(config, for: .doctor, commandLine: given)
        self.host = self.host ?? file.endpoint
        try self.validate(host: self.host, hasCertificate: self.credentials.areGiven || file.hasIdentity)
        return file
    }

    private func examine(_ file: NodeAPNSettings) async throws {
        var examination = PushExamination(limit: self.timeout.duration)
        examination.identity = try self.credentials.source(or: file)
        examination.passphraseFile = self.credentials.passphraseFile
        examination.tokenKey = self.token.p8.map { .init(path: $0, keyID: self.token.keyID, teamID: self.token.teamID) }
        examination.environment = self.environment?.environment
        examination.profile = self.server.tlsProfile
        if let host {
            examination.host = host
            examination.serverName = self.server.serverName
            examination.needsHTTP2 = self.http2
            examination.trustRoots = try self.server.trustRoots() ?? file.trustRoots() ?? .system
            // A gateway of the binary protocol is in the own network, and HTTPS_PROXY is for HTTPS.
            let readsVariables = examination.expectsHTTP2
            examination.proxy = try self.proxy.httpProxy(to: host.host, readsVariables: readsVariables)
        }
        try await self.print(examination.report)
    }

    /// Prints the report of an examination, and ends with its status.
    private func print(_ examine: () async throws -> DoctorReport) async throws {
        let report: DoctorReport
        do {
            report = try await examine()
        } catch let error as TLSError {
            throw CommandFailure.usage(ConnectionAdvice.sentence(error))
        }
        try Console.print(self.json ? report.json() : report.text)
        if report.status != .success { throw report.status }
    }

    // MARK: A receiver

    /// - Throws: `ValidationError` for a text that is not a URL, or for an option that does not fit a receiver.
    private func validateReceiver(_ url: Result<HTTPURL, HTTPURL.Fault>) throws {
        if case .failure(let fault) = url { throw ValidationError(fault.description) }
        let fitting = ["--ca"] + (self.server.text("tls-profile") == "modern" ? ["--tls-profile"] : [])
        let own = [("--config", self.config != nil), ("--http2", self.http2)].filter(\.1).map(\.0)
        let server = self.server.given.filter { !fitting.contains($0) }
        let environment = self.environment == nil ? [] : ["--environment"]
        let given = own + server + self.credentials.given + environment + self.token.given
        guard given.isEmpty else {
            throw ValidationError(
                "\(given.listed) \(given.count == 1 ? "does" : "do") not fit a URL; --ca, --timeout and --json do."
            )
        }
    }

    private func examine(_ url: HTTPURL) async throws {
        let authorities = try self.server.trustRoots()
        let proxy = try self.proxy.httpProxy(to: url.host, readsVariables: url.scheme == .https)
        let limit = self.timeout.duration
        try await self.print(
            ReceiverExamination(url, authorities: authorities, proxy: proxy, limit: limit).report
        )
    }
}
