internal import Ferry
internal import FerryTerminal
internal import FerryTesting
internal import Logging

/// The configurations of `ferry bench --migrate`: the rule gives all devices to the provider that is measured. The
/// other protocol's provider has no server, and no work.
extension MigratingConfiguration {
    /// Returns a configuration that sends everything over the binary protocol.
    static func benchmark(_ binary: BinaryConfiguration, credentials: TestCredentials) -> MigratingConfiguration {
        var http2 = HTTP2Configuration(
            host: binary.host,
            port: 1,
            credentials: .certificate(credentials.client),
            outcomes: .discard
        )
        http2.trustRoots = credentials.trustRoots
        http2.options.maxConnections = binary.options.maxConnections
        return self.benchmark(binary, http2, share: 0, queueLimit: binary.options.queueLimit, outcomes: binary.outcomes)
    }

    /// Returns a configuration that sends everything over HTTP/2.
    static func benchmark(_ http2: HTTP2Configuration, credentials: TestCredentials) -> MigratingConfiguration {
        var binary = BinaryConfiguration(
            host: http2.host,
            port: 1,
            identity: credentials.client,
            outcomes: .discard
        )
        binary.trustRoots = credentials.trustRoots
        binary.options.maxConnections = http2.options.maxConnections
        return self.benchmark(binary, http2, share: 100, queueLimit: http2.options.queueLimit, outcomes: http2.outcomes)
    }

    private static func benchmark(
        _ binary: BinaryConfiguration,
        _ http2: HTTP2Configuration,
        share: Double,
        queueLimit: Int,
        outcomes: OutcomeDelivery
    ) -> MigratingConfiguration {
        var configuration = MigratingConfiguration(
            binary: binary,
            http2: http2,
            options: MigrationOptions(rule: MigrationRule(share: share)),
            outcomes: outcomes
        )
        configuration.options.queueLimit = queueLimit
        configuration.options.fallback = MigrationOptions.Fallback()
        configuration.loopCount = share == 0 ? binary.loopCount : http2.loopCount
        configuration.eventLoopGroup = share == 0 ? binary.eventLoopGroup : http2.eventLoopGroup
        configuration.observer = share == 0 ? binary.observer : http2.observer
        configuration.logger = .silent
        return configuration
    }
}
