internal import ArgumentParser

/// Options for the provider's certificate and key.
struct CredentialOptions: ParsableArguments, IdentityOptions {
    @Option(help: ArgumentHelp("The provider certificate with its chain, in PEM or DER form.", valueName: "file"))
    var cert: String?

    @Option(help: ArgumentHelp("Its private key; without it, the key stands in the file of --cert.", valueName: "file"))
    var key: String?

    @Option(help: ArgumentHelp("Certificate and key in one PKCS#12 file.", valueName: "file"))
    var p12: String?

    @Option(help: ArgumentHelp("A file whose first line opens --key or --p12.", valueName: "file"))
    var passphraseFile: String?

    func validate() throws { try self.validateFiles() }

    /// The given options, of those that replace options of a configuration.
    var given: Set<String> {
        let options: [(String, Bool)] = [
            ("--cert", self.cert != nil), ("--p12", self.p12 != nil), ("--passphrase-file", self.passphraseFile != nil),
        ]
        return Set(options.lazy.filter(\.1).map(\.0))
    }
}
