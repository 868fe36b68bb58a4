internal import Ferry
internal import FerryCore
internal import FerryHTTP1

/// The findings about a host, in words for a receiver. Its client is Apple, which has no options and no certificate.
enum ReceiverAdvice {
    /// The network from which Apple posts.
    private static let appleNetwork = "17.0.0.0/8"

    static let clientCertificate = Finding.fault(
        .clientCertificate,
        .clientCertificateMissing,
        "The server asks for a client's certificate, and Apple shows none.",
        cure: "do not require one for this path (nginx: ssl_verify_client off, Apache: SSLVerifyClient none)"
    )

    /// The advice about faults that cannot be seen from outside.
    static let elsewhere = """
        If notifications still do not arrive, the cause is out of sight from here:
          * the URL in App Store Connect: one for production, one for the sandbox, in version 2
          * a firewall that lets this machine pass and not Apple: its posts come from \(Self.appleNetwork)
          * the receiver's idea of what is Apple's: request a test notification, and ask for its status
          * the sandbox: Apple sends once and does not try again
        """

    /// The findings about the URL itself.
    static func findings(_ url: HTTPURL) -> [Finding] {
        if url.scheme == .http {
            return [
                .warning(
                    .tls,
                    .plainHTTP,
                    "The URL begins with http://, and Apple posts to https:// only.",
                    cure: "enter a URL with https:// in App Store Connect; this one is good for tests only"
                )
            ]
        }
        guard url.port != url.scheme.defaultPort else { return [] }
        return [
            .warning(
                .port,
                .unusualPort,
                "The URL has port \(url.port). Apple posts to the port of the URL, but only 443 is known to work.",
                cure: "use port 443, or prove this one with a test notification"
            )
        ]
    }

    /// - Parameter isOwnAuthority: whether `--ca` replaces the system's authorities.
    static func adapted(_ finding: Finding, _ facts: HostFacts, isOwnAuthority: Bool) -> Finding {
        guard let problem = finding.problem else {
            guard finding.check == .trust, isOwnAuthority else { return finding }
            return .ok(.trust, "With --ca, \(finding.sentence.withLowerInitial) Apple trusts public authorities only.")
        }
        // With a proxy, the addresses are those of the proxy, which Apple does not use.
        if finding.check == .port, facts.proxy != nil { return finding }
        if problem == .clientCertificateMissing { return self.clientCertificate }
        var finding = self.chainEnd(finding, facts)
        if let cure = self.cure(finding.problem ?? problem, facts) { finding.cure = cure }
        switch problem {
        case .onlyOldTLS:
            finding.sentence = finding.sentence.replacing(
                "Ferry speaks TLS 1.2 and 1.3",
                with: "Apple wants TLS 1.2 or later"
            )
        case .onlyTLS13: finding.sentence = "It speaks TLS 1.3 only. Apple wants TLS 1.2 or later, so this may do."
        default: break
        }
        return finding
    }

    /// Returns the finding for a chain whose last issuer was not sent and is not trusted. Returns any other finding
    /// unchanged. Such a chain is the most common fault of web servers. Browsers hide the fault, because they fetch or
    /// remember missing certificates.
    private static func chainEnd(_ finding: Finding, _ facts: HostFacts) -> Finding {
        guard finding.problem == .unknownIssuer, let certificates = facts.server?.certificates,
            let last = certificates.last, !last.isSelfSigned
        else { return finding }
        return .fault(
            .trust,
            .missingIntermediate,
            "The server's chain is not complete: it ends with \(last.subject), issued by \(last.issuer), whose "
                + "certificate the server does not send and nobody here has.",
            cure: "have the server send the intermediate certificate \(last.issuer) after its own (nginx: "
                + "fullchain.pem as ssl_certificate; Apache: in the file of SSLCertificateFile); if that is an authority of your own, "
                + "Apple does not trust it: name it with --ca for a test"
        )
    }

    private static func cure(_ problem: Problem, _ facts: HostFacts) -> String? {
        let rule =
            "let every firewall on the way pass TCP to port \(facts.port), from Apple's \(self.appleNetwork) at least"
        return switch problem {
        case .portClosed: "start the server, or correct host and port of the URL; \(rule)"
        case .portFiltered: "\(rule); if this machine alone is barred, run ferry doctor from elsewhere"
        case .unreachable: "correct this machine's network or routes; \(rule)"
        case .addressFails: "start the server there, too, or take the address out of the DNS: Apple may choose it"
        case .plainText: "have this port speak TLS, or enter the URL with the port that does"
        case .onlyOldTLS: "switch TLS 1.2 on at the server (nginx: ssl_protocols TLSv1.2 TLSv1.3)"
        case .onlyTLS13: "switch TLS 1.2 on as well, unless a test notification arrives"
        case .noCommonCipher:
            "allow a suite with ECDHE and AES-GCM at the server, and give it a key of RSA 2048 or P-256"
        case .wrongName:
            "have a certificate issued for \(facts.serverName), or enter a URL with a name that it lists; if another site "
                + "answers here, name this one in the server's settings (SNI, server_name)"
        case .selfSigned: "have it replaced by one from a public authority: Apple trusts no other"
        case .unknownIssuer:
            "have it replaced by one from a public authority: Apple trusts no other; for a test, name your own with --ca"
        case .weakCertificate: "have it replaced: RSA of 2048 bits or P-256, and SHA-256"
        case .closedAfterHandshake: "look into the log of the server and of what stands before it"
        default: nil
        }
    }
}

extension String {
    fileprivate var withLowerInitial: String { self.prefix(1).lowercased() + self.dropFirst() }
}
