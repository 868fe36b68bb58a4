internal import ArgumentParser
internal import Ferry
internal import FerryOptions
internal import FerryTerminal

/// Options for a certificate and its key: the rows of ``ProviderOption/credentials``.
protocol IdentitySection: OptionSection {}

/// Options for the provider's certificate and key.
enum CredentialSection: IdentitySection {
    static let arguments = OptionArgument.of(ProviderOption.credentials)

    static func validate(_ credentials: CredentialOptions) throws { try credentials.validateFiles() }
}

typealias CredentialOptions = OptionArguments<CredentialSection>

/// Options for the certificate and key of a server. No configuration can replace them.
enum ServerIdentitySection: IdentitySection {
    static let arguments = OptionArgument.of(ProviderOption.credentials)

    static func validate(_ identity: OptionArguments<Self>) throws {
        try identity.validateFiles()
        try identity.validatePassphrase()
    }
}

extension OptionArguments where Section: IdentitySection {
    private var cert: String? { self.text("cert") }
    private var p12: String? { self.text("p12") }
    var passphraseFile: String? { self.text("passphrase-file") }

    /// Whether a certificate is named.
    var areGiven: Bool { self.cert != nil || self.p12 != nil }

    /// Checks that the options fit together.
    func validateFiles() throws {
        if self.cert != nil, self.p12 != nil { throw ValidationError("--cert and --p12 exclude each other.") }
        if self.isGiven("key"), self.cert == nil { throw ValidationError("--key needs --cert.") }
    }

    /// Checks that a passphrase option comes with a file to open. Call it if no configuration names such a file.
    func validatePassphrase() throws {
        if self.passphraseFile != nil, !self.areGiven {
            throw ValidationError("--passphrase-file needs --p12, or --cert and --key.")
        }
    }

    /// The place of the certificate and its key. Nil if the options name no certificate.
    func source() throws(CommandFailure) -> IdentitySource? {
        guard self.areGiven else { return nil }
        let passphrase = try self.passphrase()
        if let p12 { return IdentitySource(files: .archive(.file(p12)), passphrase: passphrase) }
        return self.cert.map { cert in
            let key = self.text("key").map { CredentialMaterial.file($0) }
            return IdentitySource(files: .pair(certificate: .file(cert), key: key), passphrase: passphrase)
        }
    }

    /// The place of the certificate and its key, from the options or else from `configuration`. Nil if neither names
    /// one.
    func source(or configuration: NodeAPNSettings) throws(CommandFailure) -> IdentitySource? {
        if let source = try self.source() { return source }
        return configuration.identitySource(passphrase: try self.passphrase())
    }

    /// Reads the files, and warns about those that other users may read. Returns nil if neither the options nor
    /// `configuration` name a certificate.
    ///
    /// - Throws: ``CommandFailure`` with status 2 when a file cannot be used.
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

    /// Returns the first line of the file of --passphrase-file. Nil without the option. Call it once: the file may be
    /// a pipe.
    func passphrase() throws(CommandFailure) -> String? {
        guard let passphraseFile else { return nil }
        return try OptionFile(Self.passphraseOption, passphraseFile).firstLine()
    }

    private static var passphraseOption: String { "--passphrase-file" }
}
