internal import Ferry
internal import FerryBinary

/// What a node-apn options object changes here. Nil: nothing.
struct NodeAPNSettings: Equatable, Sendable {
    var certificate: CredentialMaterial?
    var key: CredentialMaterial?
    var archive: CredentialMaterial?
    var passphrase: String?
    /// Empty: the system's.
    var authorities: [CredentialMaterial] = []
    /// Which of Apple's gateways.
    var production: Bool?
    var host: String?
    var port: Int?
    var rejectUnauthorized: Bool?
    var command: BinaryOptions.Command?
    var payloadLimit: Int?
    var cacheLength: Int?
    var autoAdjustCache: Bool?
    var buffersNotifications: Bool?
    var maxConnections: Int?
    var connectTimeout: Duration?
    var connectionTimeout: Duration?
    var connectionRetryLimit: Int?
    /// Of feedback: how long after one reading the next begins; zero: there is one.
    var interval: Duration?

    /// Whether anything says where to connect.
    var namesServer: Bool { self.host != nil || self.production != nil }

    /// The gateway that it names; nil when it names none.
    var endpoint: Endpoint? {
        if let host { return Endpoint(host: host, port: self.port) }
        return self.production.map {
            Endpoint(host: $0 ? BinaryConfiguration.productionHost : BinaryConfiguration.sandboxHost, port: self.port)
        }
    }

    /// Whether anything says who the provider is.
    var hasIdentity: Bool { self.archive != nil || self.certificate != nil }

    /// Puts what the object says in place of what `options` had.
    func apply(to options: inout BinaryOptions) {
        if let command { options.command = command }
        if let payloadLimit { options.payloadLimit = payloadLimit }
        if let cacheLength { options.cacheLength = cacheLength }
        if let autoAdjustCache { options.autoAdjustCache = autoAdjustCache }
        if let buffersNotifications { options.buffersNotifications = buffersNotifications }
        if let maxConnections { options.maxConnections = maxConnections }
        if let connectTimeout { options.connectTimeout = connectTimeout }
        if let connectionTimeout { options.connectionTimeout = connectionTimeout }
        if let connectionRetryLimit {
            options.connectionRetryLimit = connectionRetryLimit
            options.connectionRetryTime = .zero
        }
    }

    /// Where the credentials are; nil when none are given.
    ///
    /// - Parameter passphrase: counts in place of the object's own.
    func identitySource(passphrase: String?) -> IdentitySource? {
        let passphrase = passphrase ?? self.passphrase
        if let archive {
            return IdentitySource(origin: .configuration, files: .archive(archive), passphrase: passphrase)
        }
        return self.certificate.map {
            IdentitySource(origin: .configuration, files: .pair(certificate: $0, key: self.key), passphrase: passphrase)
        }
    }

    /// Reads the authorities' files; nil when none are given.
    func trustRoots() throws(CommandFailure) -> TrustRoots? {
        do {
            let texts = try self.authorities.map { (authority) throws(TLSError) in try authority.read("'ca'") }
            // Alone it is read again, so that an error in it names it.
            if self.authorities.count == 1, case .file(let path) = self.authorities[0] { return .file(path) }
            return texts.isEmpty ? nil : .pem(texts.flatMap { $0 + [UInt8(ascii: "\n")] })
        } catch {
            throw .usage(ConnectionAdvice.sentence(error))
        }
    }
}
