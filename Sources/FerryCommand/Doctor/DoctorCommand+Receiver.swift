internal import ArgumentParser
internal import Ferry
internal import FerryAppStore
internal import FerryOpenSSL

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// A URL: a receiver of App Store Server Notifications.
extension DoctorCommand {
    /// - Throws: `ValidationError` for a text that is no URL, or for an option that does not fit one.
    func validateReceiver(_ url: Result<HTTPURL, HTTPURL.Fault>) throws {
        if case .failure(let fault) = url { throw ValidationError(fault.description) }
        let options: [(String, Bool)] = [
            ("--config", self.config != nil), ("--server-name", self.serverName != nil),
            ("--tls-profile", self.tlsProfile != .modern), ("--http2", self.http2),
            ("--cert", self.credentials.cert != nil), ("--key", self.credentials.key != nil),
            ("--p12", self.credentials.p12 != nil), ("--passphrase-file", self.credentials.passphraseFile != nil),
            ("--environment", self.environment != nil),
        ]
        let given = options.filter(\.1).map(\.0) + self.token.given
        guard given.isEmpty else {
            throw ValidationError(
                "\(given.listed) \(given.count == 1 ? "does" : "do") not fit a URL; --ca, --timeout and --json do."
            )
        }
    }

    func receiverReport(_ url: HTTPURL) async throws -> DoctorReport {
        let host = Endpoint.text(url.host, url.port)
        let roots = try self.trustRoots() ?? .system
        do {
            var findings = ReceiverAdvice.findings(url) + (try await self.receiverHostFindings(url, roots))
            // Apple would not post to such a host, either. And the URL may hold a secret.
            guard !findings.contains(where: { $0.severity == .fault }) else {
                return DoctorReport(host: host, findings: findings, sent: "Nothing was posted, because of the faults.")
            }
            let probe = ReceiverProbe(url: url, trustRoots: roots, limit: self.timeout.duration)
            let facts = try await probe.run()
            findings += AnswerChecks.findings(facts)
            return DoctorReport(
                host: host,
                findings: findings,
                sent: Self.sent(facts),
                elsewhere: ReceiverAdvice.elsewhere
            )
        } catch let error as TLSError {
            throw CommandFailure.usage(ConnectionAdvice.sentence(error))
        }
    }

    private func receiverHostFindings(_ url: HTTPURL, _ roots: TrustRoots) async throws -> [Finding] {
        let probe = HostProbe(
            host: url.host,
            port: url.port,
            serverName: url.host,
            verifier: try TLSContext(client: .init(trustRoots: roots)),
            isTLS: url.scheme == .https,
            limit: self.timeout.duration
        )
        var facts = try await probe.run()
        facts.hasOtherClients = true
        let findings =
            WayChecks.findings(facts) + HandshakeChecks.findings(facts)
            + ServerCertificateChecks.findings(facts, now: Date())
            + ClientCertificateChecks.findings(facts, shown: .nothing)
        return findings.map { ReceiverAdvice.adapted($0, facts, isOwnAuthority: self.ca != nil) }
    }

    /// What was sent, for whoever finds it in the receiver's log.
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
