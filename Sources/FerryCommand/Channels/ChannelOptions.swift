internal import ArgumentParser
internal import Ferry
internal import FerryTerminal
internal import Logging

/// The options that all commands about channels have.
struct ChannelOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The app's bundle ID, without the suffix of a push type.", valueName: "bundle"))
    var topic: String

    @OptionGroup(title: "Server")
    var server: ServerOptions

    @OptionGroup(title: "Provider token")
    var token: ProviderTokenOptions

    @OptionGroup(title: "Certificate")
    var credentials: CredentialOptions

    @OptionGroup(title: "Proxy")
    var proxy: ProxyOptions

    @Option(parsing: .unconditional, help: ArgumentHelp("How long connecting may take.", valueName: "seconds"))
    var connectTimeout = Seconds(.seconds(10))

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("How long everything may take, with connecting.", valueName: "seconds")
    )
    var timeout = Seconds(.seconds(30))

    func validate() throws {
        try self.server.validate(for: "send")
        try self.token.validate(hasCertificate: self.credentials.areGiven, for: "APNs")
        try self.token.require(hasCertificate: self.credentials.areGiven, for: "APNs")
        try self.credentials.validatePassphrase()
        try self.connectTimeout.validate("--connect-timeout")
        try self.timeout.validate("--timeout")
    }

    /// Makes a manager, calls `body` with it, and shuts it down.
    ///
    /// - Throws: ``CommandFailure`` with the status of the error.
    func withManager<Result>(
        _ body: (ChannelManager) async throws(ChannelManagerError) -> Result
    ) async throws -> Result {
        let manager = try self.makeManager()
        do throws(ChannelManagerError) {
            let result = try await body(manager)
            await manager.shutDown()
            return result
        } catch {
            await manager.shutDown()
            throw self.failure(error)
        }
    }

    /// Makes a manager, changes channels with it, reports the change, and shuts it down.
    ///
    /// - Parameters:
    ///   - done: describes the change, for an error of `report`.
    ///   - report: called before the shutdown, which may take seconds. An interrupt then does not lose the result.
    /// - Throws: ``CommandFailure`` with the status of the error.
    func change<Result>(
        _ body: (ChannelManager) async throws(ChannelManagerError) -> Result,
        done: (Result) -> String,
        report: (Result) throws -> Void
    ) async throws {
        let manager = try self.makeManager()
        let result: Result
        do throws(ChannelManagerError) {
            result = try await body(manager)
        } catch {
            await manager.shutDown()
            throw self.failure(error)
        }
        do {
            try report(result)
        } catch {
            await manager.shutDown()
            let sentence = (error as? CommandFailure)?.message ?? Sentence.of(error)
            throw CommandFailure(.notAllAccepted, "\(done(result)) \(sentence)")
        }
        await manager.shutDown()
    }

    private func makeManager() throws -> ChannelManager {
        let configuration = try self.configuration()
        do {
            return try ChannelManager(configuration)
        } catch {
            throw CommandFailure.usage(ConnectionAdvice.sentence(error))
        }
    }

    private func configuration() throws -> ChannelManagerConfiguration {
        var configuration = ChannelManagerConfiguration(
            production: !self.server.sandbox,
            bundleID: self.topic,
            credentials: try self.token.credentials(or: self.credentials)
        )
        if let to = self.server.to {
            configuration.host = to.host
            configuration.port = to.port ?? AppleHost(to.host)?.port ?? configuration.port
        }
        configuration.logger = .silent
        if let roots = try self.server.trustRoots() { configuration.trustRoots = roots }
        configuration.serverName = self.server.serverName
        configuration.tlsVersions = self.server.tlsVersions(upTo: .tls13)
        configuration.tlsProfile = self.server.tlsProfile
        configuration.proxy = try self.proxy.httpProxy(to: configuration.host)
        configuration.connectTimeout = self.connectTimeout.duration
        configuration.deadline = self.timeout.duration
        return configuration
    }

    private func failure(_ error: ChannelManagerError) -> CommandFailure {
        switch error.code {
        case .credentialsRejected, .peerNotTrusted:
            let sentence = (error.cause as? ProviderError).map {
                ConnectionAdvice.sentence($0, hasIdentity: self.credentials.areGiven)
            }
            return CommandFailure(.noConnection, sentence ?? error.message)
        case .connectFailed, .connectTimeout, .noProviderToken:
            return CommandFailure(.noConnection, error.message)
        case .refused where error.status == 403:
            return CommandFailure(.noConnection, error.message)
        default:
            return CommandFailure(.notAllAccepted, error.message)
        }
    }
}
