internal import ArgumentParser
internal import Ferry
internal import FerryTerminal
internal import Logging

/// The settings of `ferry push --backend binary`.
extension PushCommand {
    func validateBinary() throws {
        try self.refuse(self.token.given + self.http2.given, of: .http2)
        // The file may supply the missing options, so they are checked once it was read.
        guard self.config == nil else { return }
        try self.server.validate(for: "send")
        try self.requireGateway(self.server.to?.host ?? self.appleGateway())
        try self.credentials.validatePassphrase()
    }

    func binaryConfiguration() throws -> BinaryConfiguration {
        let file =
            try self.config.map { try NodeAPNFile.read($0, for: .push, commandLine: self.given) } ?? NodeAPNSettings()
        var configuration = try self.place(file)
        if let roots = try self.server.trustRoots() { configuration.trustRoots = roots }
        configuration.serverName = self.server.serverName
        configuration.tlsVersions = self.server.tlsVersions(upTo: .tls12)
        configuration.tlsProfile = self.server.tlsProfile.profile
        configuration.rejectUnauthorized = file.rejectUnauthorized ?? configuration.rejectUnauthorized
        configuration.options = ConnectionOptionGroup.binaryDefaults
        file.apply(to: &configuration.options)
        self.connections.apply(to: &configuration.options)
        self.binary.apply(to: &configuration.options)
        configuration.loopCount = try self.connections.loopCount(connections: configuration.options.maxConnections)
        return configuration
    }

    /// The gateway, the credentials and the trust roots.
    private func place(_ file: NodeAPNSettings) throws -> BinaryConfiguration {
        guard self.server.namesServer || file.namesServer else {
            throw ValidationError(
                "Say where to send: --to HOST:PORT, --production, --sandbox, or address or production in --config."
            )
        }
        let host = self.server.to?.host ?? file.host ?? self.appleGateway(file)
        try self.requireGateway(host)
        if !file.hasIdentity { try self.credentials.validatePassphrase() }
        var configuration = BinaryConfiguration(
            host: host,
            port: self.server.to?.port ?? file.port ?? BinaryConfiguration.defaultPort,
            outcomes: .discard
        )
        configuration.logger = .silent
        configuration.identity = try self.credentials.identity(or: file)?.usedWhenExpired()
        if let roots = try file.trustRoots() { configuration.trustRoots = roots }
        return configuration
    }

    private func appleGateway(_ file: NodeAPNSettings = NodeAPNSettings()) -> String {
        self.server.usesSandbox(or: file) ? BinaryConfiguration.sandboxHost : BinaryConfiguration.productionHost
    }

    /// Checks that the host is no server of Apple's: none speaks the binary protocol any more.
    private func requireGateway(_ host: String) throws {
        guard let apple = AppleHost(host) else { return }
        guard let retirement = AppleHost.retirement(of: host) else {
            let target = apple.service == .channels ? apple.successor : "it"
            throw ValidationError("\(host) speaks HTTP/2: send to \(target) with --backend http2.")
        }
        let option = apple.environment == .production ? "--production" : "--sandbox"
        throw ValidationError(
            "\(retirement), and with it the binary protocol: send with --backend http2 \(option), or name a gateway that is "
                + "not Apple's with --to HOST:PORT."
        )
    }

    /// The options of the command line that replace those of the file.
    var given: Set<String> {
        let options: [(String, Bool)] = [
            ("--connections", self.connections.connections != nil),
            ("--connect-timeout", self.connections.connectTimeout != nil),
            ("--connection-retry-limit", self.connections.connectionRetryLimit != nil),
        ]
        return Set(options.lazy.filter(\.1).map(\.0))
            .union(self.server.given).union(self.credentials.given).union(self.binary.given)
    }
}
