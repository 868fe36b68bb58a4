internal import Ferry
internal import FerryOpenSSL
internal import FerryTerminal

/// The check of the server's reaction to the client's certificate.
enum ClientCertificateChecks {
    /// The certificate that the client could show.
    enum Shown: Sendable {
        case nothing
        case certificate
        /// Files were named, but their content cannot be shown.
        case unusable
    }

    static func findings(_ facts: HostFacts, shown: Shown) -> [Finding] {
        let spoken = facts.handshakes.filter { $0.report.speaksTLS }
        guard !spoken.isEmpty else { return [] }
        if let refusal = spoken.lazy.compactMap({ $0.report.refusal }).first {
            return [self.refused(refusal.alert, shown)]
        }
        let asking = spoken.filter { $0.report.asksForCertificate }
        // A server may refuse without an alert. Then only the closed connection shows the refusal.
        if asking.contains(where: { !$0.report.isCompleted && $0.report.isClosed }) {
            return [self.refused(nil, shown)]
        }
        if let error = asking.lazy.compactMap({ $0.report.failure }).first { return [self.failed(error)] }
        var findings = [self.taken(asking.map(\.version), shown)]
        if spoken.contains(where: { $0.report.isCompleted && $0.report.isClosed }) { findings.append(self.closed) }
        return findings
    }

    private static func refused(_ alert: String?, _ shown: Shown) -> Finding {
        switch shown {
        case .nothing:
            .fault(
                .clientCertificate,
                .clientCertificateMissing,
                "\(ConnectionAdvice.noCertificate).",
                cure: ConnectionAdvice.giveCertificate
            )
        case .unusable:
            .fault(
                .clientCertificate,
                .clientCertificateMissing,
                "The server asks for a certificate, and the one that was given cannot be shown.",
                cure: "repair what is said of its files"
            )
        case .certificate:
            .fault(
                .clientCertificate,
                .clientCertificateRefused,
                "The server refuses the certificate that it was shown (\(alert.map { "alert \"\($0)\"" } ?? "without a word")).",
                cure: self.cure(alert)
            )
        }
    }

    /// - Parameter alert: OpenSSL's name of the alert.
    private static func cure(_ alert: String?) -> String {
        switch alert {
        case "unknown CA":
            "have the server trust the authority that issued it, or show a certificate from one that it trusts"
        case "decrypt error":
            "the server trusts an authority of the issuer's name that did not sign this certificate: have it trust the one "
                + "that did"
        case "certificate expired": "renew it"
        case "certificate revoked": "it was revoked: make a new one"
        default:
            "check that it is valid, not revoked, and made for this service, environment and topic; the server's log says "
                + "more"
        }
    }

    private static func taken(_ asking: [TLSVersion], _ shown: Shown) -> Finding {
        let versions = asking.sorted().map(\.inWords).listed
        return switch shown {
        case .certificate where asking.isEmpty:
            .warning(
                .clientCertificate,
                .clientCertificateNotAsked,
                "The server does not ask for a certificate, so it does not know who is connected.",
                cure: "switch client certificates on at the server, or check that this is the right host and port"
            )
        case .certificate:
            .ok(
                .clientCertificate,
                "The server asks for a certificate and takes the one that it was shown (\(versions))."
            )
        case .nothing, .unusable:
            asking.isEmpty
                ? .ok(.clientCertificate, "The server asks for no certificate.")
                : .ok(.clientCertificate, "The server asks for a certificate and goes on without one (\(versions)).")
        }
    }

    /// Returns the finding for an alert that does not refuse the certificate. The server may know the certificate, but
    /// may not serve this client at the moment.
    private static func failed(_ error: TLSError) -> Finding {
        .warning(
            .clientCertificate,
            .handshakeFails,
            "The server asks for a certificate and ends the handshake: \(error.description)",
            cure: "look into the server's log: it may serve this client later, with the same certificate"
        )
    }

    private static let closed = Finding.warning(
        .clientCertificate,
        .closedAfterHandshake,
        "The server ends the connection right after the handshake.",
        cure:
            "look into the server's log: it may not know this certificate, or have blocked this address for connecting "
            + "too often"
    )
}

extension HandshakeReport {
    /// The error of the alert that ended the handshake; nil if no alert ended it.
    fileprivate var failure: TLSError? {
        guard !self.isCompleted, case .failed(let error) = self.ending, error.code == .alertReceived else { return nil }
        return error
    }

    fileprivate var isClosed: Bool {
        if case .closed = self.ending { true } else { false }
    }
}
