internal import ArgumentParser
internal import Ferry
internal import FerryTerminal
internal import Logging

/// The settings of `ferry push --backend http2`.
extension PushCommand {
    func validateHTTP2() throws {
        try self.refuse(self.binary.given, of: .binary)
        // The file may supply the missing options, so they are checked once it was read.
        if self.config == nil { try self.server.validate(for: "send") }
        try self.validateHTTP2Server()
        if self.token.areGiven, self.credentials.areGiven {
            throw ValidationError(
                "\(self.token.given.first ?? "--p8") excludes --cert and --p12: HTTP/2 takes a provider token or a "
                    + "certificate."
            )
        }
        try self.token.validateIdentifiers()
        if self.config == nil { try self.requireCredentials(NodeAPNSettings()) }
    }

    /// Refuses hosts of Apple's that do not take notifications over HTTP/2.
    func validateHTTP2Server() throws {
        if let to = self.server.to, let apple = AppleHost(to.host), apple.service == .channels {
            throw ValidationError("\(to.host) is for channels only: use \(apple.successor), or ferry channels.")
        }
        if let to = self.server.to, let apple = AppleHost(to.host), apple.isRetired {
            throw ValidationError(
                "\(to.host) never spoke HTTP/2, and Apple has switched it off: use \(apple.successor)."
            )
        }
    }

    private func requireCredentials(_ file: NodeAPNSettings) throws {
        guard self.token.areGiven || self.credentials.areGiven || file.hasIdentity else {
            throw ValidationError(
                "HTTP/2 wants credentials: give --p8, --key-id and --team-id, or --provider-token-file, or --cert and "
                    + "--key, or --p12."
            )
        }
        if !file.hasIdentity { try self.credentials.validatePassphrase() }
    }

    func http2Configuration() throws -> HTTP2Configuration {
        let file =
            try self.config.map { try NodeAPNFile.read($0, for: .pushHTTP2, commandLine: self.givenOverHTTP2) }
            ?? NodeAPNSettings()
        guard self.server.namesServer || file.production != nil else {
            throw ValidationError(
                "Say where to send: --to HOST:PORT, --production, --sandbox, or production in --config."
            )
        }
        try self.requireCredentials(file)
        let apple =
            self.server.usesSandbox(or: file) ? HTTP2Configuration.sandboxHost : HTTP2Configuration.productionHost
        var configuration = HTTP2Configuration(
            host: self.server.to?.host ?? apple,
            port: self.server.to?.port ?? HTTP2Configuration.defaultPort,
            credentials: try self.http2Credentials(file),
            topic: self.topic,
            outcomes: .discard
        )
        configuration.logger = .silent
        if let roots = try self.server.trustRoots() ?? file.trustRoots() { configuration.trustRoots = roots }
        configuration.rejectUnauthorized = file.rejectUnauthorized ?? configuration.rejectUnauthorized
        configuration.serverName = self.server.serverName
        configuration.tlsVersions = self.server.tlsVersions(upTo: .tls13)
        configuration.tlsProfile = self.server.tlsProfile.profile
        configuration.proxy = try self.http2.proxy.httpProxy()
        configuration.options = ConnectionOptionGroup.http2Defaults
        file.apply(to: &configuration.options)
        self.connections.apply(to: &configuration.options)
        self.http2.apply(to: &configuration.options)
        configuration.loopCount = try self.connections.loopCount(connections: configuration.options.maxConnections)
        return configuration
    }

    private var givenOverHTTP2: Set<String> {
        self.given.union(self.token.given)
    }

    private func http2Credentials(_ file: NodeAPNSettings) throws -> HTTP2Configuration.Credentials {
        if let source = try self.token.source() { return .token(source) }
        guard let identity = try self.credentials.identity(or: file)?.usedWhenExpired() else {
            throw CommandFailure.usage("There are no credentials.")
        }
        return .certificate(identity)
    }
}
