internal import Ferry
internal import FerryOpenSSL
internal import FerryPlatform
internal import FerryTerminal

/// The checks of the provider's certificate: it is for push, valid, and for the right environment.
struct OwnCertificateChecks {
    /// The largest number of topics that a finding lists.
    private static let listedTopics = 8
    private static let renewal = "make a new one (Apple: Certificates, Identifiers & Profiles) and put it in place"

    /// The environment that the certificate must support; nil if it is unknown.
    var environment: CertificateSummary.Environment?
    /// Whether the host is Apple's. Apple's hosts accept only Apple's certificates.
    var isForApple: Bool
    var now: Date

    func findings(_ certificates: [CertificateSummary]) -> [Finding] {
        guard let own = certificates.first else { return [] }
        let validity = ValidityCheck(
            check: .certificate,
            owner: "The certificate \(own.subject)",
            renewal: Self.renewal,
            now: self.now
        )
        return validity.findings(certificates)
            + [self.issuer(own, behind: certificates.count - 1), self.usage(own), self.topics(own), self.purpose(own)]
            .compactMap { $0 }
    }

    private func issuer(_ own: CertificateSummary, behind count: Int) -> Finding {
        guard own.isSelfSigned else {
            let others = count == 0 ? "" : ", and sent with \(count) certificate\(count == 1 ? "" : "s") behind it"
            return .ok(.certificate, "It was issued by \(own.issuer)\(others).")
        }
        let sentence = "It is self-signed: no authority vouches for it."
        return self.isForApple
            ? .fault(
                .certificate,
                .selfSigned,
                sentence,
                cure: "Apple takes its own certificates only; \(Self.renewal)"
            )
            : .warning(
                .certificate,
                .selfSigned,
                sentence,
                cure:
                    "have the gateway know it by its fingerprint, SHA-256 \(own.fingerprintHex), or have one issued by an "
                    + "authority that the gateway trusts"
            )
    }

    private func usage(_ own: CertificateSummary) -> Finding? {
        guard !own.isForClients else { return nil }
        return .warning(
            .certificate,
            .wrongPurpose,
            "It is not made for a client (key usage, extended key usage): a server that looks at that refuses it.",
            cure: "give the one for push, which has the extended key usage clientAuth"
        )
    }

    private func topics(_ own: CertificateSummary) -> Finding {
        guard !own.topics.isEmpty else {
            return .warning(
                .topics,
                .noTopic,
                "The certificate names no topic, neither as user ID (UID) nor as Apple's list.",
                cure: "check that it is a certificate for push; under the binary protocol it is the topic"
            )
        }
        let names = own.topics.prefix(Self.listedTopics).map { topic in
            topic.kinds.isEmpty ? topic.name : "\(topic.name) (\(topic.kinds.joined(separator: ", ")))"
        }
        let rest = own.topics.count - names.count
        return .ok(.topics, "It may send to \((names + (rest > 0 ? ["\(rest) more"] : [])).listed).")
    }

    private func purpose(_ own: CertificateSummary) -> Finding? {
        guard !own.environments.isEmpty else {
            return self.isForApple
                ? .fault(
                    .environment,
                    .notFromApple,
                    "The certificate has none of Apple's marks for push (extensions 1.2.840.113635.100.6.3).",
                    cure:
                        "give the certificate for push services that Apple issued, not one for signing or for a server"
                )
                : .ok(
                    .environment,
                    "It has none of Apple's marks for push, so its environment is the gateway's affair."
                )
        }
        let marks = own.environments.map(\.rawValue).sorted().listed
        guard let environment, !own.environments.contains(environment) else {
            let extras = [
                own.pushExtensions.contains(ApplePushExtension.voip.rawValue) ? "VoIP" : nil,
                own.pushExtensions.contains(ApplePushExtension.complication.rawValue) ? "complications" : nil,
            ].compactMap { $0 }
            let suffix = extras.isEmpty ? "" : ", also for \(extras.listed)"
            return .ok(.environment, "It is good for \(marks)\(suffix) (extensions \(own.pushExtensions.listed)).")
        }
        return .fault(
            .environment,
            .wrongEnvironment,
            "The certificate is good for \(marks) only, and the host is for \(environment.rawValue).",
            cure:
                "use a certificate for \(environment.rawValue), or connect to the host for \(marks); device tokens of one "
                + "environment are bad tokens in the other"
        )
    }
}
