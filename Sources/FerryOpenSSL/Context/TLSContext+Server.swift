internal import CFerryOpenSSL

extension TLSContext {
    /// A server's settings.
    package struct Server: Sendable {
        /// Who the server is.
        package var identity: TLSIdentity
        /// How far it goes back for old clients.
        package let profile: TLSProfile
        /// The versions that it speaks.
        package var versions: ClosedRange<TLSVersion>
        /// What it asks of its clients' certificates.
        package var clientCertificates: ClientCertificates
        /// The application protocols that it selects from, best first; with any, a client that offers only others is
        /// refused. Empty: ALPN is ignored.
        package var applicationProtocols: [String]

        /// - Parameter maximum: the highest version. Legacy clients stumble over the session tickets of TLS 1.3, so a
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
            versions = min(profile.minimum, maximum)...maximum
            self.clientCertificates = clientCertificates
            self.applicationProtocols = applicationProtocols
        }
    }

    /// What a server asks of its clients' certificates.
    ///
    /// The request never lists authorities: some old clients would choose their certificate by it.
    package enum ClientCertificates: Sendable {
        /// None is asked for.
        case ignored
        /// One is asked for; any that is shown, or none, is taken.
        case requested
        /// One is asked for; none is taken, and of those that are shown the ones that these authorities vouch for.
        case optional(TrustRoots)
        /// One that these authorities vouch for is required.
        case required(TrustRoots)
        /// One with such a SHA-256 fingerprint is required; its chain and dates are not looked at.
        case pinned(Set<[UInt8]>)
        /// One that the closure accepts is required; its chain and dates are not looked at. Runs on the event loop, in
        /// the middle of the handshake: it must neither block nor call into the connection.
        case verified(@Sendable (CertificateSummary) -> Bool)

        var asksForCertificate: Bool {
            if case .ignored = self { false } else { true }
        }

        /// The decision that replaces OpenSSL's verification of the chain; nil where that stands.
        var acceptance: (@Sendable (CertificateSummary) -> Bool)? {
            switch self {
            case .ignored, .optional, .required: nil
            case .requested: { _ in true }
            case .pinned(let fingerprints): { fingerprints.contains($0.fingerprint) }
            case .verified(let accepts): accepts
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
            case .pinned, .verified:
                SSL_CTX_set_verify(context.pointer, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nil)
            }
        }
    }
}
