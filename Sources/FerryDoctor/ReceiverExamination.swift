internal import Ferry
package import FerryHTTP1
package import FerryOpenSSL
internal import FerryPlatform
package import FerryProxy
internal import FerryTerminal

/// The examination of a receiver of App Store Server Notifications.
package struct ReceiverExamination: Sendable {
    private let url: HTTPURL
    private let authorities: TrustRoots?
    private let proxy: HTTPProxy?
    private let limit: Duration

    /// - Parameters:
    ///   - authorities: the authorities that replace the system's; nil for the system's.
    ///   - proxy: the proxy in front of the receiver; nil without a proxy.
    ///   - limit: the limit of each step.
    package init(_ url: HTTPURL, authorities: TrustRoots?, proxy: HTTPProxy? = nil, limit: Duration) {
        self.url = url
        self.proxy = proxy
        self.authorities = authorities
        self.limit = limit
    }

    /// Examines the host, and then posts to the receiver.
    ///
    /// - Throws: `TLSError` when OpenSSL refuses the server's name or the authorities.
    package func report() async throws -> DoctorReport {
        let host = Endpoint.text(self.url.host, self.url.port)
        let roots = self.authorities ?? .system
        var findings = ReceiverAdvice.findings(self.url) + (try await self.hostFindings(roots))
        // Apple would not post to such a host either, and the URL may hold a secret.
        guard !findings.contains(where: { $0.severity == .fault }) else {
            return DoctorReport(host: host, findings: findings, sent: "Nothing was posted, because of the faults.")
        }
        let facts = try await ReceiverProbe(
            url: self.url,
            trustRoots: roots,
            proxy: self.proxy,
            limit: self.limit
        ).run()
        findings += AnswerChecks.findings(facts)
        return DoctorReport(
            host: host,
            findings: findings,
            sent: Self.sent(facts),
            elsewhere: ReceiverAdvice.elsewhere
        )
    }

    private func hostFindings(_ roots: TrustRoots) async throws -> [Finding] {
        let probe = HostProbe(
            host: self.url.host,
            port: self.url.port,
            serverName: self.url.host,
            verifier: try TLSContext(client: .init(trustRoots: roots)),
            proxy: self.proxy,
            isTLS: self.url.scheme == .https,
            limit: self.limit
        )
        var facts = try await probe.run()
        facts.hasOtherClients = self.proxy == nil
        let findings =
            WayChecks.findings(facts) + HandshakeChecks.findings(facts)
            + ServerCertificateChecks.findings(facts, now: Date())
            + ClientCertificateChecks.findings(facts, shown: .nothing)
        return findings.map { ReceiverAdvice.adapted($0, facts, isOwnAuthority: self.authorities != nil) }
    }

    /// Returns a description of the requests, for a search in the receiver's log.
    private static func sent(_ facts: ReceiverFacts) -> String {
        let sizes = [facts.small, facts.large].compactMap(\.self).map { AnswerChecks.size($0) }
        return """
            Sent: a GET, and a POST of a forged notification of \(sizes.joined(separator: ", and another of ")), with \
            the User-Agent \(ReceiverProbe.userAgent). Type TEST, environment Sandbox, app \
            \(ForgedNotification.bundleID), notificationUUID \(facts.uuids.listed). The certificates were made for this \
            and are not Apple's.
            """
    }
}
