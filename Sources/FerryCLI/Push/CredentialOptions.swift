internal import ArgumentParser
internal import Ferry

/// Options that say who the provider is.
struct CredentialOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The provider certificate with its chain, in PEM or DER form.", valueName: "file"))
    var cert: String?

    @Option(help: ArgumentHelp("Its private key; without it, the key stands in the file of --cert.", valueName: "file"))
    var key: String?

    @Option(help: ArgumentHelp("Certificate and key in one PKCS#12 file.", valueName: "file"))
    var p12: String?

    @Option(help: ArgumentHelp("A file whose first line opens --key or --p12.", valueName: "file"))
    var passphraseFile: String?

    func validate() throws {
        if self.cert != nil, self.p12 != nil { throw ValidationError("--cert and --p12 exclude each other.") }
        if self.key != nil, self.cert == nil { throw ValidationError("--key needs --cert.") }
    }

    /// Whether a certificate is named.
    var areGiven: Bool { self.cert != nil || self.p12 != nil }

    /// Checks that there is something that the passphrase may open, where nothing but these options can name it.
    func validatePassphrase() throws {
        if self.passphraseFile != nil, !self.areGiven {
            throw ValidationError("--passphrase-file needs --p12, or --cert and --key.")
        }
    }

    /// Reads the files; nil when none was named.
    func identity() throws -> TLSIdentity? {
        let passphrase = try self.passphrase()
        do {
            if let p12 { return try TLSIdentity(pkcs12Path: p12, passphrase: passphrase ?? "") }
            return try self.cert.map {
                try TLSIdentity(certificatePath: $0, privateKeyPath: self.key, passphrase: passphrase)
            }
        } catch {
            throw CommandFailure.usage(ConnectionAdvice.sentence(error))
        }
    }

    /// The first line of the file of --passphrase-file; nil without one.
    func passphrase() throws -> String? {
        try self.passphraseFile.map { try FirstLine.read($0) }
    }
}
