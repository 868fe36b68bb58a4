/// The result of one check.
struct Finding: Equatable, Sendable, Encodable {
    enum Severity: String, Sendable, Encodable {
        case ok
        /// The subject works today but needs attention.
        case warning
        case fault
    }

    /// The subject of a check.
    enum Check: String, Sendable, Encodable, CaseIterable {
        // The host.
        case service, address, port, proxy, tls, name, validity, trust, clientCertificate, http2, authentication
        // The receiver of App Store Server Notifications on the host.
        case answer, verification, body, http1, speed
        // The credentials.
        case file, archive, key, certificate, topics, environment, tokenKey, keyID, teamID

        var isOfHost: Bool {
            switch self {
            case .service, .address, .port, .proxy, .tls, .name, .validity, .trust, .clientCertificate, .http2,
                .authentication, .answer, .verification, .body, .http1, .speed:
                true
            case .file, .archive, .key, .certificate, .topics, .environment, .tokenKey, .keyID, .teamID: false
            }
        }
    }

    var check: Check
    var severity: Severity
    /// The stable name of the problem; nil if there is no problem.
    var problem: Problem?
    /// One sentence: the observation and its meaning. It contains no key, passphrase or payload.
    var sentence: String
    /// The remedy, as a phrase that can follow "cure:"; nil if there is no problem.
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
