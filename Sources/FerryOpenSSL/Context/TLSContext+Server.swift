internal import CFerryOpenSSL

extension TLSContext {
    /// A server's settings.
    package struct Server: Sendable {
        /// The server's certificate and key.
        package var identity: TLSIdentity
        /// The profile. It decides how old a client may be.
        package let profile: TLSProfile
        /// The versions that the server speaks.
        package var versions: ClosedRange<TLSVersion>
        /// The server's demand for client certificates.
        package var clientCertificates: ClientCertificates
        /// The application protocols to select from, best first. If there are any, a client that offers only others is
        /// refused. Empty: ALPN is ignored.
        package var applicationProtocols: [String]
        /// The contexts for clients that ask for one of these server names (SNI, RFC 6066), in small letters. Other
        /// clients get this context. The versions are those of this context, because a client is answered with a version
        /// before its name counts.
        package var named: [String: TLSContext] = [:]

        /// - Parameter maximum: the highest version. Legacy clients fail on the session tickets of TLS 1.3, so a
        ///   listener for the binary protocol stays at 1.2.
        package init(
            identity: TLSIdentity,
            profile: TLSProfile = .modern,
            maximum: TLSVersion = .tls13,
            clientCertificates: ClientCertificates = .ignored,
            applicationProtocols: [String] = []
        ) {
            self.identity = identity
            self.profile = profile
            self.versions = min(profile.minimum, maximum)...maximum
            self.clientCertificates = clientCertificates
            self.applicationProtocols = applicationProtocols
        }
    }

    /// A server's demand for client certificates.
    ///
    /// The request never lists authorities, because some old clients would choose their certificate by the list.
    package enum ClientCertificates: Sendable {
        /// The server does not ask for a certificate.
        case ignored
        /// The server asks for a certificate. It takes any certificate, and clients without one.
        case requested
        /// The server asks for a certificate. It takes certificates from these authorities, and clients without one.
        case optional(TrustRoots)
        /// The server requires a certificate from these authorities.
        case required(TrustRoots)
        /// The server requires a certificate with one of these SHA-256 fingerprints. Its chain and dates are not
        /// checked.
        case pinned(Set<[UInt8]>)
        /// The server requires a certificate that the closure accepts. Its chain and dates are not checked. The closure
        /// runs on the event loop in the middle of the handshake: it must neither block nor call into the connection.
        case verified(@Sendable (CertificateSummary) -> Bool)
        /// A closure decides, as for ``verified(_:)``. It also gets the reason why these authorities do not vouch for
        /// the certificate, including its dates and purpose; nil if they do. Afterwards
        /// ``TLSHandler/isPeerChainVerified`` shows whether they do.
        case judged(TrustRoots?, @Sendable (CertificateSummary, ChainFinding?) -> ClientVerdict)

        var asksForCertificate: Bool {
            if case .ignored = self { false } else { true }
        }

        /// The decision that replaces OpenSSL's verification of the chain; nil if OpenSSL's decision stands.
        var acceptance: ContextCallbacks.Acceptance? {
            switch self {
            case .ignored, .optional, .required: nil
            case .requested: .ofCertificate { _ in true }
            case .pinned(let fingerprints): .ofCertificate { fingerprints.contains($0.fingerprint) }
            case .verified(let accepts): .ofCertificate(accepts)
            case .judged(_, let accepts): .ofCertificateAndChain(accepts)
            }
        }

        func install(in context: borrowing OwnedContext) throws(TLSError) {
            switch self {
            case .ignored:
                SSL_CTX_set_verify(context.pointer, SSL_VERIFY_NONE, nil)
            case .requested:
                SSL_CTX_set_verify(context.pointer, SSL_VERIFY_PEER, nil)
            case .optional(let roots):
                try roots.install(in: context)
                SSL_CTX_set_verify(context.pointer, SSL_VERIFY_PEER, nil)
            case .required(let roots):
                try roots.install(in: context)
                SSL_CTX_set_verify(context.pointer, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nil)
            case .judged(let roots, _):
                try roots?.install(in: context)
                SSL_CTX_set_verify(context.pointer, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nil)
            case .pinned, .verified:
                SSL_CTX_set_verify(context.pointer, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nil)
            }
        }
    }

    /// The decision about a client that has shown its certificate.
    package enum ClientVerdict: Sendable {
        case accepted
        /// The certificate is not accepted. The alert is `handshake_failure`.
        case refused
        /// The certificate is good, and the server cannot serve the client now. The alert is `internal_error`, because
        /// the client should try again with the same certificate.
        case notNow
    }
}
