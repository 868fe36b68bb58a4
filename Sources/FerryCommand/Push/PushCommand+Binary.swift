internal import ArgumentParser
internal import Ferry
internal import FerryOptions
internal import FerryTerminal
internal import Logging

/// The settings of `ferry push --backend binary`.
extension PushCommand {
    func validateBinary() throws {
        try self.refuse(self.token.given + self.http2.given + self.proxy.given, of: .http2)
        // The file may supply the missing options, so they are checked once it was read.
        guard self.config == nil else { return }
        try self.server.validate(for: "send")
        try self.requireGateway(self.server.to?.host ?? self.appleGateway())
        try self.credentials.validatePassphrase()
    }

    func binaryConfiguration() throws -> BinaryConfiguration {
        let file = try NodeAPNFile.read(self.config, for: .push, commandLine: self.given)
        var configuration = try self.place(file)
        if let roots = try self.server.trustRoots() { configuration.trustRoots = roots }
        configuration.serverName = self.server.serverName
        configuration.tlsVersions = self.server.tlsVersions(upTo: .tls12)
        configuration.tlsProfile = self.server.tlsProfile
        configuration.rejectUnauthorized = file.rejectUnauthorized ?? configuration.rejectUnauthorized
        configuration.options = ConnectionSection.binaryDefaults
        configuration.options.set { file.options[$0.name] }
        configuration.options.set { self.connections[$0] ?? self.binary[$0] }
        // A low limit of the cache is for the number of notifications. The limit of their bytes does not fall with
        // it.
        configuration.options.cacheLimit.bytes = max(
            configuration.options.cacheLimit.bytes,
            BinaryOptions().cacheLimit.bytes
        )
        configuration.loopCount = try self.connections.loopCount(connections: configuration.options.maxConnections)
        return configuration
    }

    /// The gateway, the credentials and the trust roots.
    private func place(_ file: NodeAPNSettings) throws -> BinaryConfiguration {
        try self.server.validate(for: "send", or: file)
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

    /// Checks that the host is not one of Apple's, because these no longer speak the binary protocol.
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
        Set(self.server.given + self.credentials.given + self.connections.given + self.binary.given)
    }
}
