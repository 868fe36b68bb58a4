internal import Ferry
internal import FerryOpenSSL
internal import FerryOptions
internal import FerryProxy
internal import Logging

/// The options of one protocol: server, credentials and behaviour.
extension OptionObject {
    static let silent = Logger(label: "ferry") { _ in SwiftLogNoOpLogHandler() }

    mutating func binaryConfiguration(
        on threads: ProcessThreads,
        outcomes: OutcomeDelivery
    ) throws -> BinaryConfiguration {
        guard let host = try self.take("host")?.text else {
            throw OptionFault("The binary protocol needs the option 'host': Apple's gateway no longer exists.")
        }
        var configuration = BinaryConfiguration(
            host: host,
            port: try self.take("port")?.count ?? BinaryConfiguration.defaultPort,
            identity: try self.identity(),
            outcomes: outcomes
        )
        if let roots = try self.take("ca") { configuration.trustRoots = .file(roots.text) }
        configuration.serverName = try self.take("serverName")?.text
        if let verifies = try self.take("rejectUnauthorized") { configuration.rejectUnauthorized = verifies.isOn }
        try configuration.options.set { (option) throws(OptionFault) in try self.take(option) }
        configuration.loopCount = try self.take("loops")?.count ?? 1
        configuration.eventLoopGroup = threads.loops
        configuration.embedding = threads.embedding
        configuration.logger = Self.silent
        return configuration
    }

    mutating func http2Configuration(
        on threads: ProcessThreads,
        outcomes: OutcomeDelivery
    ) throws -> HTTP2Configuration {
        let production = try self.take("production")?.isOn
        let host = try self.take("host")?.text
        guard production == nil || host == nil else {
            throw OptionFault("The option 'production' is for Apple's servers, and 'host' names another.")
        }
        guard production != nil || host != nil else {
            throw OptionFault("Say where to send: 'production' with true or false, or 'host'.")
        }
        let apple =
            production == false ? HTTP2Configuration.sandboxHost : HTTP2Configuration.productionHost
        var configuration = HTTP2Configuration(
            host: host ?? apple,
            port: try self.take("port")?.count ?? HTTP2Configuration.defaultPort,
            credentials: try self.credentials(),
            topic: try self.take("topic")?.text,
            outcomes: outcomes
        )
        if let roots = try self.take("ca") { configuration.trustRoots = .file(roots.text) }
        configuration.serverName = try self.take("serverName")?.text
        if let verifies = try self.take("rejectUnauthorized") { configuration.rejectUnauthorized = verifies.isOn }
        configuration.proxy = try self.proxy(for: configuration.host)
        try configuration.options.set { (option) throws(OptionFault) in try self.take(option) }
        configuration.loopCount = try self.take("loops")?.count ?? 1
        configuration.eventLoopGroup = threads.loops
        configuration.embedding = threads.embedding
        configuration.logger = Self.silent
        return configuration
    }

    /// Returns the proxy for a host; nil without the option `proxy`, or if `proxy` is `environment` and the variables
    /// name no proxy for the host. Environment variables count only with this value. Otherwise an update of the
    /// library could change the route of the connections.
    private mutating func proxy(for host: String) throws(OptionFault) -> HTTPProxy? {
        let (proxy, userName) = (try self.take("proxy")?.text, try self.take("proxyUser")?.text)
        var password: String?
        if let path = try self.take("proxyPasswordFile")?.text {
            password = try PasswordFile.firstLine(of: path, option: "proxyPasswordFile")
        }
        do throws(ProxyAddressFault) {
            return try ProxyOption.proxy(proxy, userName: userName, password: password, for: host)
        } catch {
            throw OptionFault(error.description)
        }
    }

    private mutating func credentials() throws -> HTTP2Configuration.Credentials {
        let (path, keyID, teamID) = (try self.take("p8"), try self.take("keyId"), try self.take("teamId"))
        let tokenFile = try self.take("tokenFile")
        guard let path else {
            guard tokenFile == nil else {
                throw OptionFault("The option 'tokenFile' needs 'p8': a certificate has no provider token.")
            }
            guard keyID == nil, teamID == nil else {
                throw OptionFault("The options 'keyId' and 'teamId' need 'p8': a certificate has no provider token.")
            }
            guard let identity = try self.identity() else {
                throw OptionFault(
                    "HTTP/2 wants credentials: 'p8' with 'keyId' and 'teamId', or 'cert' with 'key', or 'pfx'."
                )
            }
            return .certificate(identity)
        }
        guard let keyID, let teamID else {
            throw OptionFault("The option 'p8' needs 'keyId' and 'teamId' beside it.")
        }
        guard !self.has("cert"), !self.has("pfx") else {
            throw OptionFault(
                "The option 'p8' excludes 'cert' and 'pfx': HTTP/2 takes a provider token or a certificate."
            )
        }
        let key = try ES256Key(path: path.text)
        guard let tokenFile else {
            return .token(try ProviderTokenSource(key: key, keyID: keyID.text, teamID: teamID.text))
        }
        return .token(
            try ProviderTokenSource(sharingIn: tokenFile.text, key: key, keyID: keyID.text, teamID: teamID.text)
        )
    }

    mutating func identity() throws -> TLSIdentity? {
        let passphrase = try self.take("passphrase")?.text
        if let archive = try self.take("pfx") {
            guard !self.has("cert") else { throw OptionFault("The option 'pfx' excludes 'cert'.") }
            return try TLSIdentity(pkcs12Path: archive.text, passphrase: passphrase ?? "")
        }
        guard let certificate = try self.take("cert") else { return nil }
        return try TLSIdentity(
            certificatePath: certificate.text,
            privateKeyPath: try self.take("key")?.text,
            passphrase: passphrase
        )
    }
}
