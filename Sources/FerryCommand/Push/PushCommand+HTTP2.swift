internal import ArgumentParser
internal import Ferry
internal import Logging

/// The settings of `ferry push --backend http2`.
extension PushCommand {
    func validateHTTP2() throws {
        if self.config != nil {
            throw ValidationError(
                "--config is the options object of node-apn 1.x, which speaks the binary protocol only: it has no meaning "
                    + "with --backend http2."
            )
        }
        try self.refuse(self.binary.given, of: .binary)
        try self.server.validate(for: "send")
        if let to = self.server.to, let apple = AppleHost(to.host), apple.service != .http2 {
            throw ValidationError(
                "\(to.host) never spoke HTTP/2, and Apple has switched it off: use \(apple.successor)."
            )
        }
        if self.token.areGiven, self.credentials.areGiven {
            throw ValidationError(
                "\(self.token.given.first ?? "--p8") excludes --cert and --p12: HTTP/2 takes a provider token or a "
                    + "certificate."
            )
        }
        guard self.token.areGiven || self.credentials.areGiven else {
            throw ValidationError(
                "HTTP/2 wants credentials: give --p8, --key-id and --team-id, or --provider-token-file, or --cert and "
                    + "--key, or --p12."
            )
        }
        try self.token.validateIdentifiers()
        try self.credentials.validatePassphrase()
    }

    func http2Configuration() throws -> HTTP2Configuration {
        let apple = self.server.sandbox ? HTTP2Configuration.sandboxHost : HTTP2Configuration.productionHost
        var configuration = HTTP2Configuration(
            host: self.server.to?.host ?? apple,
            port: self.server.to?.port ?? HTTP2Configuration.defaultPort,
            credentials: try self.http2Credentials(),
            topic: self.topic,
            outcomes: .discard
        )
        configuration.logger = .silent
        if let roots = try self.server.trustRoots() { configuration.trustRoots = roots }
        configuration.serverName = self.server.serverName
        configuration.tlsVersions = self.server.tlsVersions(upTo: .tls13)
        configuration.tlsProfile = self.server.tlsProfile.profile
        configuration.proxy = try self.http2.proxy.httpProxy()
        configuration.options = ConnectionOptionGroup.http2Defaults
        self.connections.apply(to: &configuration.options)
        self.http2.apply(to: &configuration.options)
        return configuration
    }

    private func http2Credentials() throws -> HTTP2Configuration.Credentials {
        if let source = try self.token.source() { return .token(source) }
        guard let identity = try self.credentials.identity() else {
            throw CommandFailure.usage("There are no credentials.")
        }
        return .certificate(identity)
    }
}
