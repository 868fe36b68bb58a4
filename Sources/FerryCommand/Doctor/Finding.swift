/// What one check found.
struct Finding: Equatable, Sendable, Encodable {
    enum Severity: String, Sendable, Encodable {
        case ok
        /// Works today, and deserves a look.
        case warning
        case fault
    }

    /// What was looked at.
    enum Check: String, Sendable, Encodable, CaseIterable {
        // The host.
        case service, address, port, tls, name, validity, trust, clientCertificate, http2, authentication
        // The credentials.
        case file, archive, key, certificate, topics, environment, tokenKey, keyID, teamID

        var isOfHost: Bool {
            switch self {
            case .service, .address, .port, .tls, .name, .validity, .trust, .clientCertificate, .http2, .authentication:
                true
            case .file, .archive, .key, .certificate, .topics, .environment, .tokenKey, .keyID, .teamID: false
            }
        }
    }

    var check: Check
    var severity: Severity
    /// What is wrong, by a name that stays; nil when nothing is.
    var problem: Problem?
    /// What it is and what it means: one sentence, which names no key, passphrase or payload.
    var sentence: String
    /// What to do, as a phrase that could follow "cure:"; nil when nothing is wrong.
    var cure: String?

    static func ok(_ check: Check, _ sentence: String) -> Finding {
        Finding(check: check, severity: .ok, problem: nil, sentence: sentence, cure: nil)
    }

    static func warning(_ check: Check, _ problem: Problem, _ sentence: String, cure: String) -> Finding {
        Finding(check: check, severity: .warning, problem: problem, sentence: sentence, cure: cure)
    }

    static func fault(_ check: Check, _ problem: Problem, _ sentence: String, cure: String) -> Finding {
        Finding(check: check, severity: .fault, problem: problem, sentence: sentence, cure: cure)
    }
}
