internal import ArgumentParser
internal import Ferry
internal import FerryTerminal
internal import FerryTesting

/// Options for the identity of a simulated server and for its clients' authorities. They replace temporary
/// certificates.
struct ServerIdentityOptions: ParsableArguments {
    @OptionGroup
    var server: OptionArguments<ServerIdentitySection>

    @Option(help: ArgumentHelp("The authorities that may vouch for clients, in PEM form.", valueName: "file"))
    var clientCA: String?

    /// Returns `credentials` with the parts replaced that these options name.
    ///
    /// - Throws: ``CommandFailure`` with status 2 when a file cannot be used.
    func apply(to credentials: TestCredentials) throws(CommandFailure) -> TestCredentials {
        TestCredentials(
            trustRoots: try self.clientRoots() ?? credentials.trustRoots,
            server: try self.server.identity() ?? credentials.server,
            client: credentials.client,
            tokenKey: credentials.tokenKey
        )
    }

    private func clientRoots() throws(CommandFailure) -> TrustRoots? {
        guard let clientCA else { return nil }
        return try .ofOption("--client-ca", clientCA)
    }
}
