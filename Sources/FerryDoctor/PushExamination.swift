internal import Ferry
package import FerryOpenSSL
internal import FerryPlatform
package import FerryProxy
package import FerryTerminal

/// The examination of a server of push services, of credentials, or of both together.
package struct PushExamination: Sendable {
    /// A key of provider tokens, as the options name it.
    package struct TokenKey: Sendable {
        var path: String
        var keyID: String?
        var teamID: String?

        package init(path: String, keyID: String?, teamID: String?) {
            self.path = path
            self.keyID = keyID
            self.teamID = teamID
        }
    }

    /// The ports of APNs over HTTP/2.
    private static let http2Ports = [HTTP2Configuration.defaultPort, HTTP2Configuration.alternativePort]

    /// The server; nil if only credentials are examined.
    package var host: Endpoint?
    /// The name that the server's certificate must have; nil for the name of the host.
    package var serverName: String?
    package var trustRoots = TrustRoots.system
    /// The proxy in front of the host; nil without a proxy.
    package var proxy: HTTPProxy?
    /// The oldest TLS that the provider accepts.
    package var profile = TLSProfile.modern
    /// Whether the server must speak HTTP/2, even if neither its name nor its port says so.
    package var needsHTTP2 = false
    package var identity: IdentitySource?
    /// The file of `--passphrase-file`.
    package var passphraseFile: String?
    package var tokenKey: TokenKey?
    /// The environment that the certificate must support; nil for the environment that the server's name shows.
    package var environment: CertificateSummary.Environment?
    /// The limit of each step.
    package var limit: Duration

    package init(limit: Duration) {
        self.limit = limit
    }

    /// Whether the host is expected to speak HTTP/2. A proxy from the environment is used for such hosts only.
    package var expectsHTTP2: Bool {
        guard let host else { return false }
        if case .none = self.demand(host) { return false }
        return true
    }

    /// Reads the credentials, and then examines the host.
    ///
    /// - Throws: `TLSError` when OpenSSL refuses the server's name or the trust roots.
    package func report() async throws -> DoctorReport {
        let certificate = self.identity.map { CredentialInspector.identity($0, self.profile) }
        let tokenKey = self.tokenKeyFindings()
        var findings = self.credentialFindings(certificate) + tokenKey
        if let host {
            let isTokenKeyGood = self.tokenKey != nil && !tokenKey.contains { $0.severity == .fault }
            findings += try await self.hostFindings(host, certificate, hasTokenKey: isTokenKeyGood)
        }
        return DoctorReport(host: self.host.map { Endpoint.text($0.host, self.port($0)) }, findings: findings)
    }

    // MARK: Credentials

    private func credentialFindings(_ certificate: CertificateFacts?) -> [Finding] {
        let name = self.serverName ?? self.host?.host
        let apple = name.flatMap { AppleHost($0) }
        let checks = OwnCertificateChecks(
            environment: self.environment ?? apple?.environment,
            isForApple: apple != nil,
            now: Date()
        )
        var findings: [Finding] = []
        if let passphraseFile {
            findings += FileChecks.passphraseFile(OptionFile("--passphrase-file", passphraseFile))
        }
        if let certificate {
            findings += IdentityChecks.findings(certificate) + checks.findings(certificate.certificates)
        }
        return findings
    }

    private func tokenKeyFindings() -> [Finding] {
        self.tokenKey.map { key in
            TokenKeyChecks.findings(CredentialInspector.tokenKey(key.path, keyID: key.keyID, teamID: key.teamID))
        } ?? []
    }

    // MARK: Host

    private func port(_ endpoint: Endpoint) -> Int {
        endpoint.port ?? AppleHost(endpoint.host)?.port
            ?? (self.needsHTTP2 ? HTTP2Configuration.defaultPort : BinaryConfiguration.defaultPort)
    }

    private func demand(_ endpoint: Endpoint) -> HostFacts.HTTP2Demand {
        // A provider token is useful with HTTP/2 only.
        if self.needsHTTP2 || self.tokenKey != nil || AppleHost(endpoint.host)?.isRetired == false { return .needed }
        return Self.http2Ports.contains(self.port(endpoint)) ? .offered : .none
    }

    /// - Parameter hasTokenKey: whether a key for provider tokens was given, and its checks found no fault.
    private func hostFindings(
        _ endpoint: Endpoint,
        _ certificate: CertificateFacts?,
        hasTokenKey: Bool
    ) async throws -> [Finding] {
        if let retired = ServiceCheck.finding(endpoint.host) { return [retired] }
        let identity = certificate?.usableIdentity
        let probe = HostProbe(
            host: endpoint.host,
            port: self.port(endpoint),
            serverName: self.serverName ?? endpoint.host,
            identity: identity,
            verifier: try TLSContext(client: .init(trustRoots: self.trustRoots, profile: self.profile)),
            proxy: self.proxy,
            profile: self.profile,
            http2: self.demand(endpoint),
            limit: self.limit
        )
        let facts = try await probe.run()
        let shown: ClientCertificateChecks.Shown =
            certificate == nil ? .nothing : identity == nil ? .unusable : .certificate
        return WayChecks.findings(facts)
            + HandshakeChecks.findings(facts)
            + ServerCertificateChecks.findings(facts, now: Date())
            + ClientCertificateChecks.findings(facts, shown: shown)
            + HTTP2Checks.findings(facts, .init(hasCertificate: identity != nil, hasTokenKey: hasTokenKey))
    }
}
