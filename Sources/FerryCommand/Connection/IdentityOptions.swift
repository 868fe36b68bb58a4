internal import ArgumentParser
internal import Ferry

/// Options that name a certificate and its key, whoever shows them.
protocol IdentityOptions {
    /// `--cert`
    var cert: String? { get }
    /// `--key`
    var key: String? { get }
    /// `--p12`
    var p12: String? { get }
    /// `--passphrase-file`
    var passphraseFile: String? { get }
}

extension IdentityOptions {
    /// Whether a certificate is named.
    var areGiven: Bool { self.cert != nil || self.p12 != nil }

    /// Checks which options stand together.
    func validateFiles() throws {
        if self.cert != nil, self.p12 != nil { throw ValidationError("--cert and --p12 exclude each other.") }
        if self.key != nil, self.cert == nil { throw ValidationError("--key needs --cert.") }
    }

    /// Checks that there is something that the passphrase may open, where nothing but these options can name it.
    func validatePassphrase() throws {
        if self.passphraseFile != nil, !self.areGiven {
            throw ValidationError("--passphrase-file needs --p12, or --cert and --key.")
        }
    }

    /// Where the certificate and its key are; nil when none was named.
    func source() throws(CommandFailure) -> IdentitySource? {
        guard self.areGiven else { return nil }
        let passphrase = try self.passphrase()
        if let p12 { return IdentitySource(files: .archive(.file(p12)), passphrase: passphrase) }
        return self.cert.map { cert in
            let key = self.key.map { CredentialMaterial.file($0) }
            return IdentitySource(files: .pair(certificate: .file(cert), key: key), passphrase: passphrase)
        }
    }

    /// Where they are; nil when none was named, here or in `configuration`.
    func source(or configuration: NodeAPNSettings) throws(CommandFailure) -> IdentitySource? {
        if let source = try self.source() { return source }
        return configuration.identitySource(passphrase: try self.passphrase())
    }

    /// Reads the files, and warns of those that others may read; nil when none was named, here or in `configuration`.
    ///
    /// - Throws: ``CommandFailure`` with status 2 when a file is of no use.
    func identity(or configuration: NodeAPNSettings = NodeAPNSettings()) throws(CommandFailure) -> TLSIdentity? {
        guard let source = try self.source(or: configuration) else { return nil }
        if let passphraseFile {
            OptionFile(Self.passphraseOption, passphraseFile).warnIfOpen(holding: "a passphrase")
        }
        do {
            return try source.identity()
        } catch {
            throw CommandFailure.usage(ConnectionAdvice.sentence(error))
        }
    }

    /// The first line of the file of --passphrase-file; nil without one. A pipe gives it once.
    func passphrase() throws(CommandFailure) -> String? {
        guard let passphraseFile else { return nil }
        return try OptionFile(Self.passphraseOption, passphraseFile).firstLine()
    }

    private static var passphraseOption: String { "--passphrase-file" }
}
