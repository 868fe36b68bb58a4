internal import Ferry
internal import FerryBinary
internal import FerryHTTP2
internal import FerryOpenSSL
internal import Logging

/// The options of one protocol: server, credentials and behaviour.
extension OptionsObject {
    private enum Unknown: String, CaseIterable { case resend, report }
    private enum Policy: String, CaseIterable { case hold, evict }
    private enum Finality: String, CaseIterable { case silence, proof }

    private static let most = 1...1_000_000_000

    static let silent = Logger(label: "ferry") { _ in SwiftLogNoOpLogHandler() }

    mutating func binaryConfiguration(
        on threads: ProcessThreads,
        outcomes: OutcomeDelivery
    ) throws -> BinaryConfiguration {
        guard let host = try self.string("host") else {
            throw OptionsFault("The binary protocol needs the option 'host': Apple's gateway no longer exists.")
        }
        var configuration = BinaryConfiguration(
            host: host,
            port: try self.integer("port", in: 1...65_535) ?? BinaryConfiguration.defaultPort,
            identity: try self.identity(),
            outcomes: outcomes
        )
        if let roots = try self.string("ca") { configuration.trustRoots = .file(roots) }
        configuration.serverName = try self.string("serverName")
        if let verifies = try self.bool("rejectUnauthorized") { configuration.rejectUnauthorized = verifies }
        try self.apply(to: &configuration.options)
        configuration.loopCount = try self.integer("loops", in: 1...64) ?? 1
        configuration.eventLoopGroup = threads.loops
        configuration.embedding = threads.embedding
        configuration.logger = Self.silent
        return configuration
    }

    private mutating func apply(to options: inout BinaryOptions) throws {
        if let count = try self.integer("maxConnections", in: 1...1000) { options.maxConnections = count }
        if let length = try self.integer("cacheLength", in: Self.most) { options.cacheLength = length }
        if let adjusts = try self.bool("autoAdjustCache") { options.autoAdjustCache = adjusts }
        if let limit = try self.integer("cacheLimit", in: Self.most) {
            options.cacheLimit = .init(entries: limit, bytes: limit.multipliedReportingOverflow(by: 256).partialValue)
        }
        if let policy = try self.choice("cachePolicy", Policy.self) {
            options.cachePolicy = policy == .hold ? .hold : .evict
        }
        if let buffers = try self.bool("buffersNotifications") { options.buffersNotifications = buffers }
        if let time = try self.seconds("settleTime") { options.settleTime = time }
        if let policy = try self.choice("onUnknown", Unknown.self) {
            options.onUnknown = policy == .resend ? .resend : .report
        }
        if let finality = try self.choice("finality", Finality.self) {
            options.finality = finality == .proof ? .proof : .silence
        }
        if let probes = try self.bool("probeWhenHeld") { options.probeWhenHeld = probes }
        if let time = try self.seconds("connectTimeout") { options.connectTimeout = time }
        if let limit = try self.integer("connectionRetryLimit", in: 0...1_000_000) {
            options.connectionRetryLimit = limit
        }
        if let deadline = try self.seconds("deadline") { options.deadline = deadline }
    }

    mutating func http2Configuration(
        on threads: ProcessThreads,
        outcomes: OutcomeDelivery
    ) throws -> HTTP2Configuration {
        let production = try self.bool("production")
        let host = try self.string("host")
        guard production == nil || host == nil else {
            throw OptionsFault("The option 'production' is for Apple's servers, and 'host' names another.")
        }
        guard production != nil || host != nil else {
            throw OptionsFault("Say where to send: 'production' with true or false, or 'host'.")
        }
        let apple =
            production == false ? HTTP2Configuration.sandboxHost : HTTP2Configuration.productionHost
        var configuration = HTTP2Configuration(
            host: host ?? apple,
            port: try self.integer("port", in: 1...65_535) ?? HTTP2Configuration.defaultPort,
            credentials: try self.credentials(),
            topic: try self.string("topic"),
            outcomes: outcomes
        )
        if let roots = try self.string("ca") { configuration.trustRoots = .file(roots) }
        configuration.serverName = try self.string("serverName")
        if let verifies = try self.bool("rejectUnauthorized") { configuration.rejectUnauthorized = verifies }
        try self.apply(to: &configuration.options)
        configuration.loopCount = try self.integer("loops", in: 1...64) ?? 1
        configuration.eventLoopGroup = threads.loops
        configuration.embedding = threads.embedding
        configuration.logger = Self.silent
        return configuration
    }

    private mutating func apply(to options: inout HTTP2Options) throws {
        if let count = try self.integer("maxConnections", in: 1...1000) { options.maxConnections = count }
        if let policy = try self.choice("onUnknown", Unknown.self) {
            options.onUnknown = policy == .resend ? .resend : .report
        }
        if let time = try self.seconds("connectTimeout") { options.connectTimeout = time }
        if let time = try self.seconds("attemptTimeout") { options.attemptTimeout = time }
        if let time = try self.seconds("lateAnswerLimit") { options.lateAnswerLimit = time }
        if let time = try self.seconds("pingInterval") { options.pingInterval = time }
        if let time = try self.seconds("idleCheck") { options.idleCheck = time }
        if let deadline = try self.seconds("deadline") { options.deadline = deadline }
        if let limit = try self.integer("connectionRetryLimit", in: 0...1_000_000) {
            options.connectionRetryLimit = limit
        }
        if let time = try self.seconds("devicePacing") { options.devicePacing = time }
    }

    private mutating func credentials() throws -> HTTP2Configuration.Credentials {
        guard let path = try self.string("p8") else {
            guard !self.has("tokenFile") else {
                throw OptionsFault("The option 'tokenFile' needs 'p8': a certificate has no provider token.")
            }
            guard let identity = try self.identity() else {
                throw OptionsFault(
                    "HTTP/2 wants credentials: 'p8' with 'keyId' and 'teamId', or 'cert' with 'key', or 'pfx'."
                )
            }
            return .certificate(identity)
        }
        guard let keyID = try self.string("keyId"), let teamID = try self.string("teamId") else {
            throw OptionsFault("The option 'p8' needs 'keyId' and 'teamId' beside it.")
        }
        guard !self.has("cert"), !self.has("pfx") else {
            throw OptionsFault(
                "The option 'p8' excludes 'cert' and 'pfx': HTTP/2 takes a provider token or a certificate."
            )
        }
        let key = try ES256Key(path: path)
        guard let file = try self.string("tokenFile") else {
            return .token(try ProviderTokenSource(key: key, keyID: keyID, teamID: teamID))
        }
        return .token(try ProviderTokenSource(sharingIn: file, key: key, keyID: keyID, teamID: teamID))
    }

    mutating func identity() throws -> TLSIdentity? {
        let passphrase = try self.string("passphrase")
        if let archive = try self.string("pfx") {
            guard !self.has("cert") else { throw OptionsFault("The option 'pfx' excludes 'cert'.") }
            return try TLSIdentity(pkcs12Path: archive, passphrase: passphrase ?? "")
        }
        guard let certificate = try self.string("cert") else { return nil }
        return try TLSIdentity(
            certificatePath: certificate,
            privateKeyPath: try self.string("key"),
            passphrase: passphrase
        )
    }
}
