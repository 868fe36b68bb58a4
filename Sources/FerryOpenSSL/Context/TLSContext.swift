internal import CFerryOpenSSL

/// The settings that many connections share: versions, credentials, trust, application protocols.
///
/// Made once and used from any thread; making one costs about a millisecond with the system's trust roots.
///
/// `@unchecked Sendable`: the `SSL_CTX` is configured in `init` and never changed afterwards, and OpenSSL lets any
/// number of threads make connections from it.
package final class TLSContext: @unchecked Sendable {
    /// Which side of a handshake a context is for.
    package enum Role: Sendable {
        case client
        case server
    }

    /// A client's settings.
    package struct Client: Sendable {
        /// Who may vouch for the server.
        package var trustRoots: TrustRoots
        /// What the client shows when the server asks for a certificate.
        package var identity: TLSIdentity?
        /// The versions to offer. A lower bound below 1.2 lowers OpenSSL's security level to 0.
        package var versions: ClosedRange<TLSVersion>
        /// The application protocols to offer by ALPN, best first; when any, the server must select one.
        package var applicationProtocols: [String]

        package init(
            trustRoots: TrustRoots = .system,
            identity: TLSIdentity? = nil,
            versions: ClosedRange<TLSVersion> = .tls12 ... .tls13,
            applicationProtocols: [String] = []
        ) {
            self.trustRoots = trustRoots
            self.identity = identity
            self.versions = versions
            self.applicationProtocols = applicationProtocols
        }
    }

    package let role: Role
    let handle: OwnedContext
    let verifiesPeer: Bool
    let requiresApplicationProtocol: Bool
    /// What OpenSSL's callbacks need. They get it unretained: every engine holds its context.
    let callbacks: ContextCallbacks

    /// A client that verifies its server.
    ///
    /// - Throws: ``TLSError`` with `invalidConfiguration`, `weakCredentials`, or a code of reading the trust roots.
    package convenience init(client: Client) throws(TLSError) {
        try self.init(client: client, verifiesPeer: true)
    }

    /// A client that believes any server: for tests, and for looking at servers that are set up wrongly.
    package convenience init(testingWithoutVerification client: Client) throws(TLSError) {
        try self.init(client: client, verifiesPeer: false)
    }

    private init(client: Client, verifiesPeer: Bool) throws(TLSError) {
        let handle = try Self.makeHandle(TLS_client_method(), versions: client.versions)
        if client.versions.lowerBound >= .tls12 { try Self.preferFastCipherSuites(in: handle) }
        role = .client
        callbacks = ContextCallbacks(acceptsPeer: nil, applicationProtocols: [])
        requiresApplicationProtocol = !client.applicationProtocols.isEmpty
        self.verifiesPeer = verifiesPeer
        if verifiesPeer { try client.trustRoots.install(in: handle) }
        SSL_CTX_set_verify(handle.pointer, verifiesPeer ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nil)
        if let identity = client.identity { try Self.install(identity, in: handle) }
        SSL_CTX_set_cert_cb(handle.pointer, noteCertificateRequest, nil)
        if !client.applicationProtocols.isEmpty {
            let list = try ContextCallbacks.encode(client.applicationProtocols)
            // This function returns 0 when it succeeds.
            guard SSL_CTX_set_alpn_protos(handle.pointer, list, UInt32(list.count)) == 0 else {
                throw .openSSL(.invalidConfiguration, "OpenSSL refuses the list of application protocols.")
            }
        }
        self.handle = handle
    }

    /// A server.
    ///
    /// - Throws: ``TLSError`` with `invalidConfiguration`, `weakCredentials`, or a code of reading the client CA.
    package init(server: Server) throws(TLSError) {
        let handle = try Self.makeHandle(TLS_server_method(), versions: server.versions)
        // A gateway has many idle connections; a client has few, and would allocate anew for each record.
        _ = CFerryOpenSSL_SSL_CTX_set_mode(handle.pointer, Int(SSL_MODE_RELEASE_BUFFERS))
        if server.profile == .legacy { SSL_CTX_set_security_level(handle.pointer, 0) }
        role = .server
        verifiesPeer = server.clientCertificates.asksForCertificate
        requiresApplicationProtocol = false
        callbacks = ContextCallbacks(
            acceptsPeer: server.clientCertificates.acceptance,
            applicationProtocols: try ContextCallbacks.encode(server.applicationProtocols)
        )
        CFerryOpenSSL_SSL_CTX_disable_session_cache(handle.pointer)
        guard SSL_CTX_set_num_tickets(handle.pointer, 0) == 1 else {
            throw .openSSL(.invalidConfiguration, "OpenSSL cannot switch session tickets off.")
        }
        try Self.install(server.identity, in: handle)
        try server.clientCertificates.install(in: handle)
        callbacks.install(in: handle)
        self.handle = handle
    }

    /// TLS 1.2: AES-128-GCM with forward secrecy first, then whatever OpenSSL and the system's policy allow.
    private static let cipherSuites = "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:DEFAULT"
    private static let tls13CipherSuites =
        "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256"

    /// The peer chooses by the client's order, and AES-128 is a third faster than AES-256. Older versions keep OpenSSL's
    /// own list, which the security level they need has shaped.
    private static func preferFastCipherSuites(in handle: borrowing OwnedContext) throws(TLSError) {
        guard
            SSL_CTX_set_cipher_list(handle.pointer, Self.cipherSuites) == 1,
            SSL_CTX_set_ciphersuites(handle.pointer, Self.tls13CipherSuites) == 1
        else {
            throw .openSSL(.invalidConfiguration, "OpenSSL refuses the list of cipher suites.")
        }
    }

    private static func makeHandle(
        _ method: OpaquePointer?,
        versions: ClosedRange<TLSVersion>
    ) throws(TLSError) -> OwnedContext {
        ErrorQueue.clear()
        guard let handle = OwnedContext(SSL_CTX_new(method)) else {
            throw .openSSL(.internalFailure, "OpenSSL cannot make a context.")
        }
        SSL_CTX_set_options(handle.pointer, CFerryOpenSSL_options())
        if versions.lowerBound < .tls12 { SSL_CTX_set_security_level(handle.pointer, 0) }
        let (minimum, maximum) = (versions.lowerBound.code, versions.upperBound.code)
        guard CFerryOpenSSL_SSL_CTX_set_protocol_range(handle.pointer, minimum, maximum) == 1 else {
            throw .openSSL(.invalidConfiguration, "OpenSSL was built without the configured TLS versions.")
        }
        return handle
    }

    private static func install(_ identity: TLSIdentity, in handle: borrowing OwnedContext) throws(TLSError) {
        ErrorQueue.clear()
        let material = identity.material
        let certificate = material.certificate.pointer
        guard
            SSL_CTX_use_cert_and_key(handle.pointer, certificate, material.key.pointer, material.chain.pointer, 1) == 1
        else {
            throw .openSSL(
                .weakCredentials,
                "OpenSSL refuses the certificate \(identity.summary.subject) (\(identity.summary.keyKind)) at its "
                    + "security level; it needs RSA of 2048 bits or P-256, and SHA-256, or the legacy profile."
            )
        }
    }
}
