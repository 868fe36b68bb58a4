internal import ArgumentParser
internal import Ferry
internal import FerryOpenSSL

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

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
              ferry doctor https://example.com/app-store/notifications
            """
    )

    enum EnvironmentOption: String, ExpressibleByArgument, CaseIterable {
        case sandbox, production

        var environment: CertificateSummary.Environment { self == .sandbox ? .sandbox : .production }
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

    @Option(help: ArgumentHelp("Who may vouch for the server, in PEM form, if not the system's.", valueName: "file"))
    var ca: String?

    @Option(help: ArgumentHelp("The name the server's certificate must be for, if not its host.", valueName: "name"))
    var serverName: String?

    @Option(help: TLSProfileOption.help)
    var tlsProfile = TLSProfileOption.modern

    @Flag(
        name: .customLong("http2"),
        help: "The server must speak HTTP/2. That of Apple must anyway, and on port 443 or 2197 it is offered."
    )
    var http2 = false

    @OptionGroup(title: "Credentials")
    var credentials: CredentialOptions

    @OptionGroup(title: "Provider token")
    var token: TokenKeyOptions

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
        try HostName.require(self.serverName, "--server-name")
        try self.timeout.validate("--timeout")
        if case .receiver(let url) = self.target { return try self.validateReceiver(url) }
        // The file may supply the missing options, so they are checked once it was read.
        if self.config == nil { try self.validate(host: self.host, hasCertificate: self.credentials.areGiven) }
    }

    // The probe makes its connections one after the other. Without a host it makes no connection.
    var socketCount: Int { 1 }

    /// The server; nil if there is none, or a receiver in its place.
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
        if host == nil, self.ca != nil || self.serverName != nil || self.http2 {
            throw ValidationError("--ca, --server-name and --http2 need HOST:PORT.")
        }
    }

    func run() async throws {
        var subject = self
        do {
            if case .receiver(let url) = self.target {
                return try self.print(await self.receiverReport(url.get()))
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
        let given = self.credentials.given.union(self.host == nil ? [] : ["HOST:PORT"])
            .union(self.ca == nil ? [] : ["--ca"])
        let file = try NodeAPNFile.read(config, for: .doctor, commandLine: given)
        self.host = self.host ?? file.endpoint
        try self.validate(host: self.host, hasCertificate: self.credentials.areGiven || file.hasIdentity)
        return file
    }

    private func examine(_ file: NodeAPNSettings) async throws {
        let source = try self.credentials.source(or: file)
        let certificate = source.map { CredentialInspector.identity($0, self.tlsProfile.profile) }
        let tokenKey = self.tokenKeyFindings()
        var findings = self.credentialFindings(certificate) + tokenKey
        if let host {
            let isTokenKeyGood = self.token.areGiven && !tokenKey.contains { $0.severity == .fault }
            let roots = try self.trustRoots() ?? file.trustRoots() ?? .system
            findings += try await self.hostFindings(host, certificate, roots, hasTokenKey: isTokenKeyGood)
        }
        try self.print(
            DoctorReport(host: self.host.map { Endpoint.text($0.host, self.port($0)) }, findings: findings)
        )
    }

    private func print(_ report: DoctorReport) throws {
        try Console.print(self.json ? report.json() : report.text)
        if report.status != .success { throw report.status }
    }

    // MARK: Credentials

    private func credentialFindings(_ certificate: CertificateFacts?) -> [Finding] {
        let name = self.serverName ?? self.host?.host
        let apple = name.flatMap { AppleHost($0) }
        let checks = OwnCertificateChecks(
            environment: self.environment?.environment ?? apple?.environment,
            isForApple: apple != nil,
            now: Date()
        )
        var findings: [Finding] = []
        if let path = self.credentials.passphraseFile {
            findings += FileChecks.passphraseFile(OptionFile("--passphrase-file", path))
        }
        if let certificate {
            findings += IdentityChecks.findings(certificate) + checks.findings(certificate.certificates)
        }
        return findings
    }

    private func tokenKeyFindings() -> [Finding] {
        self.token.p8.map { p8 in
            let facts = CredentialInspector.tokenKey(p8, keyID: self.token.keyID, teamID: self.token.teamID)
            return TokenKeyChecks.findings(facts)
        } ?? []
    }

    // MARK: Host

    private func port(_ endpoint: Endpoint) -> Int {
        endpoint.port ?? AppleHost(endpoint.host)?.port
            ?? (self.http2 ? HTTP2Configuration.defaultPort : BinaryConfiguration.defaultPort)
    }

    private func demand(_ endpoint: Endpoint) -> HostFacts.HTTP2Demand {
        // A provider token is useful with HTTP/2 only.
        if self.http2 || self.token.areGiven || AppleHost(endpoint.host)?.isRetired == false { return .needed }
        return Self.http2Ports.contains(self.port(endpoint)) ? .offered : .none
    }

    /// - Parameter hasTokenKey: whether a key can sign provider tokens.
    private func hostFindings(
        _ endpoint: Endpoint,
        _ certificate: CertificateFacts?,
        _ roots: TrustRoots,
        hasTokenKey: Bool
    ) async throws -> [Finding] {
        if let retired = ServiceCheck.finding(endpoint.host) { return [retired] }
        let identity = certificate?.usableIdentity
        let facts: HostFacts
        do {
            let probe = HostProbe(
                host: endpoint.host,
                port: self.port(endpoint),
                serverName: self.serverName ?? endpoint.host,
                identity: identity,
                verifier: try TLSContext(client: .init(trustRoots: roots, profile: self.tlsProfile.profile)),
                profile: self.tlsProfile.profile,
                http2: self.demand(endpoint),
                limit: self.timeout.duration
            )
            facts = try await probe.run()
        } catch let error as TLSError {
            throw CommandFailure.usage(ConnectionAdvice.sentence(error))
        }
        let shown: ClientCertificateChecks.Shown =
            certificate == nil ? .nothing : identity == nil ? .unusable : .certificate
        return WayChecks.findings(facts)
            + HandshakeChecks.findings(facts)
            + ServerCertificateChecks.findings(facts, now: Date())
            + ClientCertificateChecks.findings(facts, shown: shown)
            + HTTP2Checks.findings(facts, .init(hasCertificate: identity != nil, hasTokenKey: hasTokenKey))
    }

    func trustRoots() throws(CommandFailure) -> TrustRoots? {
        guard let ca else { return nil }
        return try .ofOption("--ca", ca)
    }

    /// The ports of APNs over HTTP/2.
    private static let http2Ports = [HTTP2Configuration.defaultPort, HTTP2Configuration.alternativePort]
}
