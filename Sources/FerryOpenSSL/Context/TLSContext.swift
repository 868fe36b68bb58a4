internal import CFerryOpenSSL

/// The settings that many connections share: versions, credentials, trust, application protocols.
///
/// A context is made once and used from any thread. Making one costs about a millisecond with the system's trust roots, and
/// tens of milliseconds if they are read from a bundle.
///
/// `@unchecked Sendable`: the `SSL_CTX` is configured in `init` and never changed afterwards. OpenSSL lets any number
/// of threads make connections from it.
package final class TLSContext: @unchecked Sendable {
    /// The side of a handshake that a context is for.
    package enum Role: Sendable {
        case client
        case server
    }

    /// A client's settings.
    package struct Client: Sendable {
        /// The authorities that may sign the server's certificate.
        package var trustRoots: TrustRoots
        /// The identity to show if the server asks for a certificate.
        package var identity: TLSIdentity?
        /// The profile. It decides how old a server may be.
        package let profile: TLSProfile
        /// The versions to offer.
        package let versions: ClosedRange<TLSVersion>
        /// The application protocols to offer by ALPN, best first. If there are any, the server must select one.
        package var applicationProtocols: [String]
        /// Whether the first message says that `ferry doctor` sends it.
        package var saysDoctor = false

        /// - Parameters:
        ///   - profile: ignored if the lower bound of `versions` is below 1.2, which means the legacy profile.
        ///   - versions: the versions to offer. With the modern profile, the system's policy may remove some.
        package init(
            trustRoots: TrustRoots = .system,
            identity: TLSIdentity? = nil,
            profile: TLSProfile = .modern,
            versions: ClosedRange<TLSVersion> = .tls12 ... .tls13,
            applicationProtocols: [String] = []
        ) {
            self.trustRoots = trustRoots
            self.identity = identity
            self.profile = versions.lowerBound < .tls12 ? .legacy : profile
            self.versions = versions
            self.applicationProtocols = applicationProtocols
        }
    }

    package let role: Role
    let handle: OwnedContext
    let verifiesPeer: Bool
    let requiresApplicationProtocol: Bool
    /// The data of OpenSSL's callbacks. They get it unretained, because every engine holds its context.
    let callbacks: ContextCallbacks

    /// Creates the context of a client that verifies its server.
    ///
    /// - Throws: ``TLSError`` with `invalidConfiguration`, `weakCredentials`, or a code of reading the trust roots.
    package convenience init(client: Client) throws(TLSError) {
        try self.init(client: client, verifiesPeer: true)
    }

    /// Creates the context of a client that trusts any server: for tests, and for examining servers with a wrong
    /// set-up.
    package convenience init(testingWithoutVerification client: Client) throws(TLSError) {
        try self.init(client: client, verifiesPeer: false)
    }

    private init(client: Client, verifiesPeer: Bool) throws(TLSError) {
        let handle = try Self.makeHandle(TLS_client_method(), client.profile, versions: client.versions)
        self.role = .client
        self.callbacks = ContextCallbacks(acceptsPeer: nil, applicationProtocols: [])
        self.requiresApplicationProtocol = !client.applicationProtocols.isEmpty
        self.verifiesPeer = verifiesPeer
        if verifiesPeer { try client.trustRoots.install(in: handle) }
        SSL_CTX_set_verify(handle.pointer, verifiesPeer ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nil)
        if let identity = client.identity { try Self.install(identity, in: handle) }
        SSL_CTX_set_cert_cb(handle.pointer, noteCertificateRequest, nil)
        if client.saysDoctor { DoctorMark.add(to: handle) }
        if !client.applicationProtocols.isEmpty {
            let list = try ContextCallbacks.encode(client.applicationProtocols)
            // This function returns 0 on success.
            guard SSL_CTX_set_alpn_protos(handle.pointer, list, UInt32(list.count)) == 0 else {
                throw .openSSL(.invalidConfiguration, "OpenSSL refuses the list of application protocols.")
            }
        }
        self.handle = handle
    }

    /// Creates the context of a server.
    ///
    /// - Throws: ``TLSError`` with `invalidConfiguration`, `weakCredentials`, or a code of reading the client CA.
    package init(server: Server) throws(TLSError) {
        let handle = try Self.makeHandle(TLS_server_method(), server.profile, versions: server.versions)
        // A gateway has many idle connections, so it frees their buffers. A client has few, and would allocate again
        // for each record.
        _ = CFerryOpenSSL_SSL_CTX_set_mode(handle.pointer, Int(SSL_MODE_RELEASE_BUFFERS))
        self.role = .server
        self.verifiesPeer = server.clientCertificates.asksForCertificate
        self.requiresApplicationProtocol = false
        self.callbacks = ContextCallbacks(
            acceptsPeer: server.clientCertificates.acceptance,
            applicationProtocols: try ContextCallbacks.encode(server.applicationProtocols),
            named: server.named
        )
        CFerryOpenSSL_SSL_CTX_disable_session_cache(handle.pointer)
        guard SSL_CTX_set_num_tickets(handle.pointer, 0) == 1 else {
            throw .openSSL(.invalidConfiguration, "OpenSSL cannot switch session tickets off.")
        }
        try Self.install(server.identity, in: handle)
        try server.clientCertificates.install(in: handle)
        self.callbacks.install(in: handle)
        DoctorMark.look(in: handle)
        self.handle = handle
    }

    private static func makeHandle(
        _ method: OpaquePointer?,
        _ profile: TLSProfile,
        versions: ClosedRange<TLSVersion>
    ) throws(TLSError) -> OwnedContext {
        ErrorQueue.clear()
        // A new context has the settings of `openssl.cnf` for every program: versions, suites, security level.
        guard let handle = OwnedContext(SSL_CTX_new(method)) else {
            throw .openSSL(.internalFailure, "OpenSSL cannot make a context.")
        }
        SSL_CTX_set_options(handle.pointer, CFerryOpenSSL_options())
        var versions = versions
        switch profile {
        case .modern:
            versions = try self.permitted(versions, in: handle)
        case .legacy:
            SSL_CTX_set_options(handle.pointer, CFerryOpenSSL_legacy_options())
            SSL_CTX_set_security_level(handle.pointer, 0)
        }
        let (minimum, maximum) = (versions.lowerBound.code, versions.upperBound.code)
        guard CFerryOpenSSL_SSL_CTX_set_protocol_range(handle.pointer, minimum, maximum) == 1 else {
            throw .openSSL(.invalidConfiguration, "OpenSSL was built without the configured TLS versions.")
        }
        try CipherSuites.install(profile, in: handle)
        return handle
    }

    /// Returns those of `versions` that the system's policy permits.
    private static func permitted(
        _ versions: ClosedRange<TLSVersion>,
        in handle: borrowing OwnedContext
    ) throws(TLSError) -> ClosedRange<TLSVersion> {
        let lower = TLSVersion(code: CFerryOpenSSL_SSL_CTX_minimum_protocol(handle.pointer)) ?? versions.lowerBound
        let upper = TLSVersion(code: CFerryOpenSSL_SSL_CTX_maximum_protocol(handle.pointer)) ?? versions.upperBound
        let (minimum, maximum) = (max(lower, versions.lowerBound), min(upper, versions.upperBound))
        guard minimum <= maximum else {
            throw TLSError(
                .invalidConfiguration,
                "The system's policy (MinProtocol and MaxProtocol in openssl.cnf) permits none of the configured TLS "
                    + "versions; allow another version, or change the policy."
            )
        }
        return minimum...maximum
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
