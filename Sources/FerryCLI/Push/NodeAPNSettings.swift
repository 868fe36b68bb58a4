internal import Ferry
internal import FerryBinary
internal import FerryOpenSSL

/// What a node-apn options object changes here. Nil: nothing.
struct NodeAPNSettings: Equatable, Sendable {
    var certificate: NodeAPNMaterial?
    var key: NodeAPNMaterial?
    var archive: NodeAPNMaterial?
    var passphrase: String?
    /// Empty: the system's.
    var authorities: [NodeAPNMaterial] = []
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

    /// Whether anything says where to connect.
    var namesServer: Bool { self.host != nil || self.production != nil }

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
        if let connectionRetryLimit { options.connectionRetryLimit = connectionRetryLimit }
    }

    /// Reads the files of the credentials; nil when none are given.
    ///
    /// - Parameter passphrase: counts in place of the object's own.
    func identity(passphrase: String?) throws(TLSError) -> TLSIdentity? {
        let passphrase = passphrase ?? self.passphrase
        if let archive {
            let bytes = try archive.read()
            return try TLSIdentity(pkcs12: bytes, passphrase: passphrase ?? "", source: archive.name(in: "pfx"))
        }
        guard let certificate else { return nil }
        let key = self.key ?? certificate
        return try TLSIdentity(
            chain: certificate.read(),
            from: certificate.name(in: "cert"),
            key: key.read(),
            from: key.name(in: self.key == nil ? "cert" : "key"),
            passphrase: passphrase
        )
    }

    /// Reads the authorities' files; nil when none are given.
    func trustRoots() throws(TLSError) -> TrustRoots? {
        if self.authorities.count == 1, case .file(let path) = self.authorities[0] { return .file(path) }
        var text: [UInt8] = []
        for authority in self.authorities {
            text += try authority.read()
            text.append(UInt8(ascii: "\n"))
        }
        return text.isEmpty ? nil : .pem(text)
    }
}

extension NodeAPNMaterial {
    fileprivate func read() throws(TLSError) -> [UInt8] {
        switch self {
        case .file(let path): try credentialBytes(atPath: path)
        case .bytes(let bytes): bytes
        }
    }

    /// What errors call it.
    fileprivate func name(in option: String) -> String {
        switch self {
        case .file(let path): path
        case .bytes: "the text of '\(option)'"
        }
    }
}
