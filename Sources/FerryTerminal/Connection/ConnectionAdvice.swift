internal import FerryBinary
package import FerryCore
package import FerryOpenSSL

/// The library's messages about connections and credentials, in words for the command line.
package enum ConnectionAdvice {
    package static let nameTheAuthority = "name the CA that issued it with --ca"
    package static let giveServerName = "give one with --server-name"
    package static let givePassphrase = "give its passphrase with --passphrase-file"
    package static let legacyProfile = "--tls-profile legacy"
    package static let giveLegacyProfile = "give \(Self.legacyProfile)"
    package static let noCertificate = "No certificate was given, and the server asks for one"
    package static let giveCertificate = "use --cert and --key, or --p12"
    private static let tryLonger =
        "To try longer, raise --connection-retry-time, or --connection-retry-limit if it was given; 0 sets no limit."
    private static let notOpened = "nothing in between opens TLS"
    /// The advice about a peer that closes each connection without an answer. A gateway does so while the client's
    /// notifications wait. A server of HTTP/2 does so when a client does not ask for HTTP/2, and a feedback service
    /// does so when its list is empty.
    package static let wordlessPeers =
        "A gateway does so while it has an alarm for the client's topic: ferry gateway names it on standard error. A feedback "
        + "service does so (its port is usually 2196, and ferry feedback reads it), and so does a server of "
        + "HTTP/2: use --backend http2 if it is one."
    private static let sendByHTTP2 = "send to a server of HTTP/2 with --backend http2"
    private static let sendByBinary = "if it is a gateway of the binary protocol, use --backend binary"

    /// The advice in a library's message, and the option that replaces it.
    private static func words(for code: TLSError.Code) -> (library: String, option: String)? {
        switch code {
        case .untrustedPeer: ("add the CA that did", "name the CA that did with --ca")
        case .peerNameMismatch: ("set the server name", self.giveServerName)
        case .passphraseRequired: ("give its passphrase", self.givePassphrase)
        case .noCommonApplicationProtocol: (self.notOpened, "\(self.notOpened); \(self.sendByBinary)")
        default: nil
        }
    }

    package static func sentence(_ error: TLSError) -> String {
        self.sentence(error.description, error.code)
    }

    /// Returns the sentence for an error that prevented the making of a provider.
    package static func sentence(_ error: any Error) -> String {
        (error as? TLSError).map { self.sentence($0) } ?? "\(error)"
    }

    package static func sentence(_ error: ProviderError, hasIdentity: Bool) -> String {
        let sentence = self.cure(error, hasIdentity: hasIdentity)
        return error.code == .connectionRetryLimit ? "\(sentence) \(self.tryLonger)" : sentence
    }

    private static func cure(_ error: ProviderError, hasIdentity: Bool) -> String {
        if error.code == .protocolViolation {
            return error.message.replacing("and not of APNs over HTTP/2", with: "or \(self.sendByHTTP2)")
                .replacing(ForeignProtocol.readAsFeedback, with: "read it with ferry feedback")
        }
        if error.cause is WordlessEnd { return "\(error.message) \(self.wordlessPeers)" }
        guard let code = self.tlsCode(error) else { return error.message }
        // A TLS error in a refusal means that the server wants a certificate. A refused token has no TLS error.
        if error.code == .credentialsRejected, code == .certificateRejected, !hasIdentity {
            return "\(self.noCertificate): \(self.giveCertificate)."
        }
        return self.sentence(error.message, code)
    }

    private static func sentence(_ text: String, _ code: TLSError.Code) -> String {
        let text = text.replacing("the legacy profile", with: self.legacyProfile)
        guard let words = self.words(for: code) else { return text }
        return text.replacing(words.library, with: words.option)
    }

    /// The code of the TLS error that caused the error, directly or indirectly; nil if no TLS error caused it.
    private static func tlsCode(_ error: ProviderError) -> TLSError.Code? {
        if let tls = error.cause as? TLSError { return tls.code }
        return (error.cause as? ProviderError).flatMap { self.tlsCode($0) }
    }
}

extension ProviderError {
    /// Whether the peer's bytes showed that it speaks another protocol.
    package var isOfForeignProtocol: Bool { self.cause is ForeignProtocol }

    /// Whether the peer did not agree on HTTP/2.
    package var isOfMissingHTTP2: Bool { (self.cause as? TLSError)?.code == .noCommonApplicationProtocol }
}
