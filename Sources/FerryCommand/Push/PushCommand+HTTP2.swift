internal import ArgumentParser
internal import Ferry
internal import FerryOptions
internal import FerryTerminal
internal import Logging

/// The settings of `ferry push --backend http2`.
extension PushCommand {
    func validateHTTP2() throws {
        try self.refuse(self.binary.given, of: .binary)
        // The file may supply the missing options, so they are checked once it was read.
        if self.config == nil { try self.server.validate(for: "send") }
        try self.validateHTTP2Server()
        try self.token.validate(hasCertificate: self.credentials.areGiven, for: "HTTP/2")
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
        try self.token.require(hasCertificate: self.credentials.areGiven || file.hasIdentity, for: "HTTP/2")
        if !file.hasIdentity { try self.credentials.validatePassphrase() }
    }

    func http2Configuration() throws -> HTTP2Configuration {
        let given = self.given.union(self.token.given)
        let file = try NodeAPNFile.read(self.config, for: .pushHTTP2, commandLine: given)
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
            credentials: try self.token.credentials(or: self.credentials, of: file),
            topic: self.topic,
            outcomes: .discard
        )
        configuration.logger = .silent
        if let roots = try self.server.trustRoots() ?? file.trustRoots() { configuration.trustRoots = roots }
        configuration.rejectUnauthorized = file.rejectUnauthorized ?? configuration.rejectUnauthorized
        configuration.serverName = self.server.serverName
        configuration.tlsVersions = self.server.tlsVersions(upTo: .tls13)
        configuration.tlsProfile = self.server.tlsProfile
        configuration.proxy = try self.proxy.httpProxy(to: configuration.host)
        configuration.options = ConnectionSection.http2Defaults
        configuration.options.set { file.options[$0.name] }
        configuration.options.set { self.connections[$0] ?? self.http2[$0] }
        configuration.loopCount = try self.connections.loopCount(connections: configuration.options.maxConnections)
        return configuration
    }
}
