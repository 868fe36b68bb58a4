internal import ArgumentParser
internal import Ferry
internal import FerryTerminal
internal import FerryTesting

/// Options of a command that connects to a server.
struct ClientTLSOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The authorities that the server's certificate may come from.", valueName: "file"))
    var ca: String?

    @Option(help: ArgumentHelp("The name that the server's certificate must be for.", valueName: "name"))
    var serverName: String?

    @OptionGroup
    var credentials: CredentialOptions

    @Flag(help: "The server speaks no TLS.")
    var plainServer = false

    func validate() throws { try HostName.require(self.serverName, "--server-name") }

    /// The settings of TLS. Nil: no TLS.
    func clientTLS() throws -> ReplaySocket.ClientTLS? {
        guard !self.plainServer else { return nil }
        return ReplaySocket.ClientTLS(
            trustRoots: try self.ca.map { try .ofOption("--ca", $0) } ?? .system,
            identity: try self.credentials.identity(),
            serverName: self.serverName
        )
    }
}
