internal import ArgumentParser
internal import Ferry
internal import FerryTerminal
internal import FerryTesting

/// Options for the identity of a simulated server and for its clients' authorities. They replace temporary
/// certificates.
struct ServerIdentityOptions: ParsableArguments, IdentityOptions {
    @Option(help: ArgumentHelp("The server's certificate with its chain, in PEM or DER form.", valueName: "file"))
    var cert: String?

    @Option(help: ArgumentHelp("Its private key; without it, the key stands in the file of --cert.", valueName: "file"))
    var key: String?

    @Option(help: ArgumentHelp("The server's certificate and key in one PKCS#12 file.", valueName: "file"))
    var p12: String?

    @Option(help: ArgumentHelp("A file whose first line opens --key or --p12.", valueName: "file"))
    var passphraseFile: String?

    @Option(help: ArgumentHelp("The authorities that may vouch for clients, in PEM form.", valueName: "file"))
    var clientCA: String?

    func validate() throws {
        try self.validateFiles()
        try self.validatePassphrase()
    }

    /// Returns `credentials` with the parts replaced that these options name.
    ///
    /// - Throws: ``CommandFailure`` with status 2 when a file cannot be used.
    func apply(to credentials: TestCredentials) throws(CommandFailure) -> TestCredentials {
        TestCredentials(
            trustRoots: try self.clientRoots() ?? credentials.trustRoots,
            server: try self.identity() ?? credentials.server,
            client: credentials.client,
            tokenKey: credentials.tokenKey
        )
    }

    private func clientRoots() throws(CommandFailure) -> TrustRoots? {
        guard let clientCA else { return nil }
        return try .ofOption("--client-ca", clientCA)
    }
}
