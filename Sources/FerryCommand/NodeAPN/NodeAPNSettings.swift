internal import Ferry
internal import FerryBinary
internal import FerryHTTP2
internal import FerryOptions
internal import FerryTerminal

/// The settings that a node-apn options object changes. Nil: not changed.
struct NodeAPNSettings: Equatable, Sendable {
    var certificate: CredentialMaterial?
    var key: CredentialMaterial?
    var archive: CredentialMaterial?
    var passphrase: String?
    /// The authorities that may sign the server's certificate. Empty: those of the system.
    var authorities: [CredentialMaterial] = []
    /// Whether to use Apple's server for production. False: Apple's server for development.
    var production: Bool?
    var host: String?
    var rejectUnauthorized: Bool?
    /// Options of the table, by their names there.
    var options: [String: OptionValue] = [:]
    /// For feedback: the pause between two readings. Zero: only one reading.
    var interval: Duration?

    var port: Int? { self.options["port"]?.count }

    /// Whether the object names a server.
    var namesServer: Bool { self.host != nil || self.production != nil }

    /// The gateway that the object names. Nil if it names no gateway.
    var endpoint: Endpoint? {
        if let host { return Endpoint(host: host, port: self.port) }
        return self.production.map {
            Endpoint(host: $0 ? BinaryConfiguration.productionHost : BinaryConfiguration.sandboxHost, port: self.port)
        }
    }

    /// Whether the object names a certificate.
    var hasIdentity: Bool { self.archive != nil || self.certificate != nil }

    /// The places of the credentials. Nil if the object has no credentials.
    ///
    /// - Parameter passphrase: replaces the passphrase of the object.
    func identitySource(passphrase: String?) -> IdentitySource? {
        let passphrase = passphrase ?? self.passphrase
        if let archive {
            return IdentitySource(origin: .configuration, files: .archive(archive), passphrase: passphrase)
        }
        return self.certificate.map {
            IdentitySource(origin: .configuration, files: .pair(certificate: $0, key: self.key), passphrase: passphrase)
        }
    }

    /// Reads the authorities' files. Returns nil if the object names no authorities.
    func trustRoots() throws(CommandFailure) -> TrustRoots? {
        do {
            let texts = try self.authorities.map { (authority) throws(TLSError) in try authority.read("'ca'") }
            // A single file is passed by name and read again, so that an error in it names the file.
            if self.authorities.count == 1, case .file(let path) = self.authorities[0] { return .file(path) }
            return texts.isEmpty ? nil : .pem(texts.flatMap { $0 + [UInt8(ascii: "\n")] })
        } catch {
            throw .usage(ConnectionAdvice.sentence(error))
        }
    }
}
