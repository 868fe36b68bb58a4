internal import ArgumentParser
internal import Ferry
internal import FerryTerminal
internal import FerryTesting

/// Options of a command that connects to a server.
struct ClientTLSOptions: ParsableArguments {
    enum Section: TLSSection {
        static let arguments = OptionArgument.named("ca", "serverName")
    }

    @OptionGroup
    var server: OptionArguments<Section>

    @OptionGroup
    var credentials: CredentialOptions

    @Flag(help: "The server speaks no TLS.")
    var plainServer = false

    /// The settings of TLS. Nil: no TLS.
    func clientTLS() throws -> ReplaySocket.ClientTLS? {
        guard !self.plainServer else { return nil }
        return ReplaySocket.ClientTLS(
            trustRoots: try self.server.trustRoots() ?? .system,
            identity: try self.credentials.identity(),
            serverName: self.server.serverName
        )
    }
}
