internal import FerryCore
internal import FerryOpenSSL
internal import FerryPlatform

/// The sentence about a client's certificate that was refused.
enum RefusalWords {
    /// The longest name in the sentence, in bytes. A certificate can contain a name of many kilobytes.
    static let nameLimit = 200

    /// - Parameter finding: the reason why the authorities do not vouch for a certificate whose user ID is known.
    static func of(_ certificate: CertificateSummary, _ finding: ChainFinding?) -> String {
        let name = certificate.subject.beginning(utf8: Self.nameLimit)
        let cut = name.endIndex < certificate.subject.endIndex ? "…" : ""
        let words = "\(name)\(cut), SHA-256 \(certificate.fingerprintHex)"
        guard let finding else { return "No client of the configuration has this certificate: \(words)." }
        return
            "The user ID of this certificate is known, but \(self.cause(certificate, finding)): \(words). For a user ID, "
            + "authority and dates count."
    }

    private static func cause(_ certificate: CertificateSummary, _ finding: ChainFinding) -> String {
        let isOwn = finding.fault.place == 0
        return switch finding.fault.kind {
        case .expired:
            isOwn ? "it expired on \(self.day(certificate.notAfter))" : "an authority behind it has expired"
        case .notYetValid:
            isOwn
                ? "it is valid from \(self.day(certificate.notBefore)) only"
                : "an authority behind it is not yet valid"
        case .selfSigned: "it is signed with its own key, and not by an authority of the listener"
        case .unknownIssuer, .otherIssuer: "another authority issued it"
        case .weak where finding.weakness == .digest:
            "its signature, or one behind it, has a digest as weak as SHA-1"
        case .weak where isOwn: "its key is too weak (\(certificate.keyKind))"
        case .weak: "the key of an authority behind it is too weak"
        case .wrongPurpose: "it is not made for clients"
        case .pathTooLong, .nameConstraint, .notAnAuthority: "an authority behind it may not vouch for it"
        case .other(let reason): "it cannot be verified (\(reason))"
        }
    }

    /// Formats a day: "2026-11-23".
    private static func day(_ date: Date) -> String { String(date.formatted(.iso8601).prefix(10)) }
}
