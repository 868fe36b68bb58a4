internal import Ferry
internal import FerryOpenSSL
internal import FerryPlatform
internal import FerryTerminal

/// The checks of the server's identity.
enum ServerCertificateChecks {
    static func findings(_ facts: HostFacts, now: Date) -> [Finding] {
        guard let server = facts.server, let own = server.certificates.first else { return [] }
        let validity = ValidityCheck(
            check: .validity,
            owner: "The server's certificate",
            renewal: "have the server's operator renew it; if it was renewed, check that the server was restarted",
            now: now
        )
        return [self.name(own, server, facts.serverName)]
            + validity.findings(server.certificates)
            + self.trust(server)
    }

    private static func name(_ own: CertificateSummary, _ server: HostFacts.Server, _ name: String) -> Finding {
        let names = own.dnsNames + own.ipAddresses
        if server.isForName { return .ok(.name, "The server's certificate is for \(name).") }
        let list = names.isEmpty ? own.commonName.map { [$0] } ?? [] : names
        return .fault(
            .name,
            .wrongName,
            list.isEmpty
                ? "The server's certificate names no host, so it is not for \(name)."
                : "The server's certificate is not for \(name), but for \(list.listed).",
            cure:
                "connect by a name that it lists, or \(ConnectionAdvice.giveServerName); or have a certificate issued "
                + "for \(name)"
        )
    }

    private static func trust(_ server: HostFacts.Server) -> [Finding] {
        // The validity check has reported expired certificates of the server already, with their dates.
        let faults = server.faults.filter { fault in
            ![.expired, .notYetValid].contains(fault.kind) || fault.place >= server.certificates.count
        }
        guard !faults.isEmpty else { return [.ok(.trust, "Its chain is trusted: \(self.chain(server)).")] }
        // One missing issuer causes several faults. Each kind is reported once.
        var kinds: [ChainFault.Kind] = []
        for fault in faults where !kinds.contains(fault.kind) { kinds.append(fault.kind) }
        if kinds.contains(.selfSigned) { kinds.removeAll { $0 == .unknownIssuer } }
        return kinds.map { self.distrust($0, server) }
    }

    private static func distrust(_ kind: ChainFault.Kind, _ server: HostFacts.Server) -> Finding {
        switch kind {
        case .selfSigned:
            .fault(
                .trust,
                .selfSigned,
                "The server's certificate is self-signed (\(self.chain(server))): nobody vouches for it.",
                cure:
                    "name that very certificate with --ca once you know that it is the server's, or have it replaced by "
                    + "one from an authority"
            )
        case .unknownIssuer:
            .fault(
                .trust,
                .unknownIssuer,
                "The server's certificate leads to no authority that is trusted here: \(self.chain(server)).",
                cure:
                    "\(ConnectionAdvice.nameTheAuthority); if it is a public one, install ca-certificates, or have the "
                    + "server send the intermediate certificates"
            )
        case .otherIssuer:
            .fault(
                .trust,
                .otherIssuer,
                "An authority of the right name is trusted here, but it did not sign the server's certificate: "
                    + "\(self.chain(server)).",
                cure:
                    "the authority was made anew, or it is another of the same name: give --ca the certificate of the "
                    + "one that signed"
            )
        case .weak:
            .fault(
                .trust,
                .weakCertificate,
                "A key or signature in the server's chain is too weak for OpenSSL's security level here.",
                cure: "have it replaced: RSA of 2048 bits or P-256, and SHA-256; if it cannot be, "
                    + ConnectionAdvice.giveLegacyProfile
            )
        case .expired, .notYetValid:
            .fault(
                .trust,
                .chainRefused,
                "The authority at the end of the server's chain is not valid now.",
                cure: "renew the certificate that --ca names, or update ca-certificates; check this machine's clock"
            )
        case .pathTooLong:
            .fault(
                .trust,
                .pathTooLong,
                "The server's chain has more authorities than one of them permits (path length): \(self.chain(server)).",
                cure: "have the certificate issued by an authority that may issue for servers directly"
            )
        case .nameConstraint:
            .fault(
                .trust,
                .nameConstraint,
                "An authority in the server's chain may not vouch for this server's name (name constraint): "
                    + "\(self.chain(server)).",
                cure:
                    "have the certificate issued by an authority without that constraint, or for a name that it permits"
            )
        case .wrongPurpose:
            .fault(
                .trust,
                .wrongPurpose,
                "The server's certificate, or one behind it, is made for another purpose: \(self.chain(server)).",
                cure: "have it issued anew with the extended key usage serverAuth"
            )
        case .notAnAuthority:
            .fault(
                .trust,
                .notAnAuthority,
                "The server's chain was issued with a certificate that is no authority: \(self.chain(server)).",
                cure: "have the certificate issued by an authority (basic constraint CA, key usage keyCertSign)"
            )
        case .other(let reason):
            .fault(
                .trust,
                .chainRefused,
                "OpenSSL refuses the server's chain: \(reason).",
                cure: "have the server's certificate issued anew"
            )
        }
    }

    /// Returns the subjects of the chain, from the server's certificate to its last issuer.
    private static func chain(_ server: HostFacts.Server) -> String {
        let subjects = server.certificates.map(\.subject)
        let issuer = server.certificates.last.map { $0.isSelfSigned ? [] : [$0.issuer] } ?? []
        return (subjects + issuer).joined(separator: ", issued by ")
    }
}
