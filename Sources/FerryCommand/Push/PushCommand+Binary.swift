internal import ArgumentParser
internal import Ferry
internal import Logging

/// The settings of `ferry push --backend binary`.
extension PushCommand {
    func validateBinary() throws {
        try self.refuse(self.token.given + self.http2.given, of: .http2)
        // The file may supply the missing options, so they are checked once it was read.
        guard self.config == nil else { return }
        try self.credentials.validatePassphrase()
        try self.server.validate(for: "send", self.credentials)
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
        return configuration
    }

    /// The gateway, the credentials and the trust roots.
    private func place(_ file: NodeAPNSettings) throws -> BinaryConfiguration {
        guard self.server.namesServer || file.namesServer else {
            throw ValidationError(
                "Say where to send: --to HOST:PORT, --production, --sandbox, or address or production in --config."
            )
        }
        if !file.hasIdentity { try self.credentials.validatePassphrase() }
        let apple =
            self.server.sandbox || !self.server.production && file.production == false
            ? BinaryConfiguration.sandboxHost : BinaryConfiguration.productionHost
        var configuration = BinaryConfiguration(
            host: self.server.to?.host ?? file.host ?? apple,
            port: self.server.to?.port ?? file.port ?? BinaryConfiguration.defaultPort,
            outcomes: .discard
        )
        configuration.logger = .silent
        configuration.identity = try self.credentials.identity(or: file)
        if let roots = try file.trustRoots() { configuration.trustRoots = roots }
        if self.server.to == nil, file.host == nil, configuration.identity == nil {
            throw ValidationError(ServerOptions.missingCertificate)
        }
        if AppleHost(configuration.host)?.service == .http2 {
            throw ValidationError("\(configuration.host) speaks HTTP/2: send to it with --backend http2.")
        }
        return configuration
    }

    /// The options of the command line that replace those of the file.
    private var given: Set<String> {
        let options: [(String, Bool)] = [
            ("--connections", self.connections.connections != nil),
            ("--connect-timeout", self.connections.connectTimeout != nil),
            ("--connection-retry-limit", self.connections.connectionRetryLimit != nil),
        ]
        return Set(options.lazy.filter(\.1).map(\.0))
            .union(self.server.given).union(self.credentials.given).union(self.binary.given)
    }
}
