internal import CFerryOpenSSL
internal import FerryCore

extension TLSError {
    /// Returns an error with a sentence of Ferry and all entries of OpenSSL's queue. If OpenSSL itself fails, the sentence ends
    /// with its reason: it may be its configuration, such as FIPS without a provider for it.
    static func openSSL(
        _ code: Code,
        _ description: String,
        file: String = #fileID,
        line: Int = #line
    ) -> TLSError {
        let causes = ErrorQueue.drain().map(\.cause)
        var sentence = description
        if code == .internalFailure, let cause = causes.first {
            let words = [cause.library, cause.reason, cause.data].filter { !$0.isEmpty }.joined(separator: ": ")
            let stem = description.hasSuffix(".") ? description.dropLast() : description[...]
            sentence = "\(stem) (\(words.printable))\(self.fipsWords)."
        }
        return TLSError(code, sentence, causes: causes, file: file, line: line)
    }

    /// The usual cause of such a failure, in words. Without the provider in `openssl.cnf`, OpenSSL has no algorithms.
    private static var fipsWords: String {
        guard EVP_default_properties_is_fips_enabled(nil) == 1, OSSL_PROVIDER_available(nil, "fips") != 1 else {
            return ""
        }
        return "; openssl.cnf demands FIPS, and its provider is not loaded"
    }
}

extension TLSError {
    static let noneSelected = "The server selected none of the offered application protocols."

    /// The error of a server that refused the client certificate and had selected none of the offered application
    /// protocols. With another certificate it would still be the wrong server. Nil for other errors.
    package var ofOtherProtocol: TLSError? {
        guard self.lacksApplicationProtocol else { return nil }
        return TLSError(
            .noCommonApplicationProtocol,
            Self.noneSelected,
            causes: self.causes,
            alert: self.alert,
            file: self.file,
            line: self.line
        )
    }
}

/// The state of a connection when it failed. It decides which error is reported.
struct ConnectionFailure {
    var isClient: Bool
    /// Whether the server's hello was exchanged, so that a version and a cipher suite were agreed.
    var agreedOnCipher: Bool
    var handshakeCompleted: Bool
    var receivedApplicationData: Bool
    /// OpenSSL's `X509_V_` result of the peer's verification.
    var verifyResult: Int
    var entries: [ErrorQueue.Entry]

    func error(file: String = #fileID, line: Int = #line) -> TLSError {
        let (code, description, alert) = self.classified()
        var error = TLSError(code, description, causes: self.entries.map(\.cause), alert: alert, file: file, line: line)
        let kind = ChainFault.Kind(result: Int32(truncatingIfNeeded: self.verifyResult))
        error.dependsOnTime = code == .untrustedPeer && (kind == .expired || kind == .notYetValid)
        return error
    }

    private func classified() -> (TLSError.Code, String, alert: String?) {
        if let alert = self.entries.lazy.map({ CFerryOpenSSL_alert_number($0.reason) }).first(where: { $0 >= 0 }) {
            let name = alertName(alert)
            let (code, description) = self.classified(alert: alert, name: name)
            return (code, description, name)
        }
        if self.has(SSL_R_CERTIFICATE_VERIFY_FAILED) {
            let (code, description) = self.classifiedVerification()
            return (code, description, nil)
        }
        if self.has(SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE) {
            return (
                .peerCertificateMissing,
                "The client showed no certificate, and this listener requires one.", nil
            )
        }
        if self.has(SSL_R_WRONG_VERSION_NUMBER, SSL_R_HTTP_REQUEST, SSL_R_HTTPS_PROXY_REQUEST, SSL_R_UNKNOWN_PROTOCOL),
            !self.agreedOnCipher
        {
            return (
                .notTLS,
                "The peer does not speak TLS, or only an ancient version of it; check host and port.", nil
            )
        }
        if let disagreement { return (.incompatiblePeer, disagreement.sentence, nil) }
        if self.has(SSL_R_NO_APPLICATION_PROTOCOL) {
            return (.noCommonApplicationProtocol, "The peer offers no application protocol (ALPN) that is served.", nil)
        }
        if self.has(SSL_R_EE_KEY_TOO_SMALL, SSL_R_CA_KEY_TOO_SMALL, SSL_R_CA_MD_TOO_WEAK, SSL_R_DH_KEY_TOO_SMALL) {
            return (
                .weakCredentials,
                "The peer's certificate or key is too weak for the security level in force\(self.lastReason); it must be renewed, "
                    + "or this side must use \(Disagreement.advice).",
                nil
            )
        }
        return (
            .protocolViolation,
            "The peer's bytes break the TLS protocol or were changed on the way\(self.lastReason); nothing more can be read.",
            nil
        )
    }

    private func classified(alert: Int32, name: String) -> (TLSError.Code, String) {
        if self.isClient, self.handshakeCompleted, !self.receivedApplicationData {
            return (.certificateRejected, self.rejection(name))
        }
        if !self.handshakeCompleted {
            switch alert {
            case SSL_AD_BAD_CERTIFICATE, SSL_AD_UNSUPPORTED_CERTIFICATE, SSL_AD_CERTIFICATE_REVOKED,
                SSL_AD_CERTIFICATE_EXPIRED, SSL_AD_CERTIFICATE_UNKNOWN, SSL_AD_UNKNOWN_CA, SSL_AD_ACCESS_DENIED,
                SSL_AD_DECRYPT_ERROR, SSL_AD_CERTIFICATE_REQUIRED:
                let text =
                    self.isClient
                    ? self.rejection(name)
                    : "The client does not accept this server's certificate (alert \"\(name)\"); "
                        + "it must trust the CA and know the server by a name in the certificate."
                return (self.isClient ? .certificateRejected : .alertReceived, text)
            case SSL_AD_HANDSHAKE_FAILURE where self.isClient && self.agreedOnCipher:
                // Up to TLS 1.2, no alert fits a missing client certificate better.
                return (.certificateRejected, self.rejection(name))
            case SSL_AD_PROTOCOL_VERSION:
                return (.incompatiblePeer, Disagreement.version.sentence(alert: name))
            case SSL_AD_INSUFFICIENT_SECURITY, SSL_AD_HANDSHAKE_FAILURE:
                return (.incompatiblePeer, Disagreement.cipherSuite.sentence(alert: name))
            case SSL_AD_NO_APPLICATION_PROTOCOL:
                return (.noCommonApplicationProtocol, "The server speaks none of the offered application protocols.")
            default:
                break
            }
        }
        return (.alertReceived, "The peer ended the connection with the fatal alert \"\(name)\".")
    }

    private func rejection(_ alert: String) -> String {
        "The server rejected the client certificate (alert \"\(alert)\"); check that it is valid, "
            + "not revoked, and made for this service and environment."
    }

    private func classifiedVerification() -> (TLSError.Code, String) {
        let result = Int32(truncatingIfNeeded: self.verifyResult)
        let reason = String(cString: X509_verify_cert_error_string(self.verifyResult))
        if [X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH].contains(result) {
            return (
                .peerNameMismatch,
                "The server's certificate is not for this host (\(reason)); connect by a name that it lists, "
                    + "or set the server name."
            )
        }
        return (.untrustedPeer, self.distrust(ChainFault.Kind(result: result), reason))
    }

    /// Returns a sentence on why the peer's certificates are not trusted. OpenSSL does not tell here which certificate
    /// it is.
    private func distrust(_ kind: ChainFault.Kind, _ reason: String) -> String {
        switch kind {
        case .expired:
            "The peer's certificate, or one behind it, has expired, and \(ClockReading()): set the clock right if it is "
                + "wrong; if it is right, the certificate must be renewed."
        case .notYetValid:
            "The peer's certificate, or one behind it, is not yet valid, and \(ClockReading()): set the clock right if it "
                + "is wrong; if it is right, the certificate's period begins later."
        case .weak:
            "The peer's certificate is too weak for the security level in force (\(reason)); it needs RSA of 2048 bits or "
                + "P-256, and SHA-256, or \(Disagreement.advice)."
        case .pathTooLong:
            "The peer's chain has more authorities than one of them permits (\(reason)); its certificate must come from "
                + "an authority that may issue for \(self.isClient ? "servers" : "clients") directly."
        case .nameConstraint:
            "An authority in the peer's chain may not vouch for the name in its certificate (\(reason)); the certificate "
                + "must come from an authority without that name constraint."
        case .wrongPurpose:
            "The peer's certificate, or one behind it, is made for another purpose (\(reason)); it needs the extended key "
                + "usage \(self.isClient ? "serverAuth" : "clientAuth")."
        case .notAnAuthority:
            "The peer's certificate was issued with a certificate that is no authority (\(reason)); it must come from one."
        case .other:
            "The peer's certificate cannot be trusted (\(reason)); it must show another."
        case .selfSigned, .unknownIssuer, .otherIssuer:
            "The peer's certificate cannot be trusted (\(reason)); none of the trust roots issued it: add the CA that did."
        }
    }

    /// The setting on which the two sides did not agree; nil if something else failed.
    private var disagreement: Disagreement? {
        if self.has(
            SSL_R_UNSUPPORTED_PROTOCOL,
            SSL_R_NO_PROTOCOLS_AVAILABLE,
            SSL_R_VERSION_TOO_LOW,
            SSL_R_WRONG_SSL_VERSION
        ) {
            return .version
        }
        if self.has(
            SSL_R_NO_SHARED_CIPHER,
            SSL_R_NO_CIPHERS_AVAILABLE,
            SSL_R_WRONG_CIPHER_RETURNED,
            SSL_R_UNKNOWN_CIPHER_RETURNED
        ) {
            return .cipherSuite
        }
        if self.has(
            SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM,
            SSL_R_NO_SHARED_SIGNATURE_ALGORITHMS,
            SSL_R_WRONG_SIGNATURE_TYPE,
            SSL_R_LEGACY_SIGALG_DISALLOWED_OR_UNSUPPORTED
        ) {
            return .signatureAlgorithm
        }
        return self.has(SSL_R_UNSAFE_LEGACY_RENEGOTIATION_DISABLED) ? .secureRenegotiation : nil
    }

    private var lastReason: String {
        self.entries.last.map { " (\($0.cause.reason))" } ?? ""
    }

    private func has(_ reasons: Int32...) -> Bool {
        self.entries.contains { $0.library == ERR_LIB_SSL && reasons.contains($0.reason) }
    }
}

/// A setting on which two sides can fail to agree.
private enum Disagreement {
    case version, cipherSuite, signatureAlgorithm, secureRenegotiation

    /// The setting that makes old peers acceptable, as a part of a sentence.
    static let advice = "the legacy profile"

    var sentence: String {
        switch self {
        case .version:
            "The peer speaks no TLS version that this side is configured for; allow one that the peer speaks, or with TLS "
                + "1.0 and 1.1 use \(Self.advice)."
        case .cipherSuite:
            "The two sides have no cipher suite in common; the peer must allow a usual one of TLS 1.2, or this side must use "
                + "\(Self.advice)."
        case .signatureAlgorithm:
            "The two sides have no signature algorithm in common; the peer must allow SHA-256, or this side must use "
                + "\(Self.advice)."
        case .secureRenegotiation:
            "The server does not know secure renegotiation (RFC 5746), as if it were older than 2010; it must be renewed, "
                + "or this side must use \(Self.advice)."
        }
    }

    /// Returns the sentence for a disagreement that the peer found.
    func sentence(alert: String) -> String {
        switch self {
        case .version:
            "The peer refuses every TLS version that this side offers (alert \"\(alert)\"); allow one that the peer speaks, "
                + "or with TLS 1.0 and 1.1 use \(Self.advice)."
        case .cipherSuite, .signatureAlgorithm, .secureRenegotiation:
            "The peer refuses every cipher suite, key exchange group and signature algorithm that this side offers (alert "
                + "\"\(alert)\"); it must allow a usual one of TLS 1.2, or this side must use \(Self.advice)."
        }
    }
}

private func alertName(_ alert: Int32) -> String {
    switch alert {
    // OpenSSL has no names for these alerts.
    case SSL_AD_CERTIFICATE_REQUIRED: "certificate required"
    case SSL_AD_NO_APPLICATION_PROTOCOL: "no application protocol"
    case SSL_AD_MISSING_EXTENSION: "missing extension"
    case SSL_AD_INAPPROPRIATE_FALLBACK: "inappropriate fallback"
    default: SSL_alert_desc_string_long(alert).map { String(cString: $0) } ?? "\(alert)"
    }
}
