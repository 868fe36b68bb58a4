internal import FerryBinary
internal import FerryCore
internal import FerryMachine
internal import FerryOpenSSL
internal import FerryPlatform
internal import Logging

/// A provider that speaks the binary protocol with a gateway.
///
/// It runs on ``BinaryConfiguration/loopCount`` event loops of the configured group. It opens up to `maxConnections`
/// connections when there is work, and closes those that were idle for `idleTimeout`. All methods may be called from any
/// thread.
///
/// * Without an error response, the outcome of ``LoopProvider/send(_:to:)`` comes after a round trip and the settle
///   time.
/// * Without trouble, ``LoopProvider/drain(within:)`` takes a round trip and the settle time from the last write.
/// * ``LoopProvider/shutDown(within:proof:)`` half-closes each connection once everything has its outcome. It then
///   listens until the peer ends the connection, for at most 5 s of the limit. An error response may still arrive;
///   notifications that the gateway discarded are then sent again.
///
/// Shut a provider down with ``LoopProvider/shutDown(within:proof:)``, or use
/// ``withProvider(_:drainingWithin:proof:_:)->Result``, which does it. If the last reference is dropped instead, the connections
/// close. Notifications that were not written end as `undelivered(.released)`, and those that were written and not
/// settled as `uncertain(.released)`.
public final class BinaryProvider: LoopProvider {
    /// The part of the provider that does not depend on its protocol.
    public let body: ProviderBody

    /// Makes a provider. It connects when there is work.
    ///
    /// Reads the trust roots, which may be a file.
    ///
    /// - Throws: ``TLSError`` when the certificate has expired or is not valid yet, when OpenSSL refuses the
    ///   credentials, or when the trust roots cannot be read; ``ConfigurationError`` when the port is not 1 to 65,535,
    ///   or the host is one of Apple's, which were switched off in 2021.
    public init(_ configuration: BinaryConfiguration) throws {
        try configuration.validate()
        let connector = try ProviderConnector(configuration)
        let options = configuration.options
        let loops = configuration.eventLoopGroup.loops(atMost: min(configuration.loopCount, options.maxConnections))
        let shared = BinaryClient.Shared(settleTime: options.settleTime)
        let commons = ProviderCommons(
            loopCount: loops.count,
            outcomes: configuration.outcomes,
            queueLimit: options.queueLimit,
            observer: configuration.observer,
            logger: configuration.logger
        )
        let drivers = loops.enumerated().map { index, loop in
            ProviderDriver(
                configuration.makeClient(LoopPart(index, of: loops.count), sharing: shared),
                on: loop,
                index: index,
                commons: commons,
                connector: { _ in connector },
                options: .init(logger: configuration.logger, patience: Patience(binary: options))
            )
        }
        self.body = ProviderBody(
            commons,
            drivers,
            spans: configuration.tracer.map { ProviderSpans($0, host: configuration.host, port: configuration.port) }
        )
        configuration.logCacheThatDoesNotGrow()
    }
}

extension BinaryConfiguration {
    /// - Throws: the errors of ``BinaryProvider/init(_:)`` about host and certificate.
    func validate() throws {
        try AppleHost.require(self.host, for: .binary)
        try self.identity?.validate(at: .now)
    }

    /// Makes the machine of one event loop of a provider.
    ///
    /// - Parameter shared: the state that the machines of all loops share.
    func makeClient(_ part: LoopPart, sharing shared: BinaryClient.Shared) -> BinaryClient {
        let topics = self.identity.map { Set($0.summary.topics.map(\.name)) }
        return BinaryClient(
            options: self.options.part(part),
            topics: topics?.isEmpty == false ? topics : nil,
            sharing: shared
        )
    }

    func logCacheThatDoesNotGrow() {
        guard self.options.cachePolicy == .hold, !self.options.autoAdjustCache else { return }
        self.logger.debug(
            "the cache does not grow: no more than its length is sent in a round trip and a settle time",
            metadata: [
                "apns.cacheLength": "\(self.options.cacheLength)", "apns.settleTime": "\(self.options.settleTime)",
            ]
        )
    }
}

extension BinaryConfiguration: ProviderConfiguration {
    /// Makes a provider: see ``BinaryProvider/init(_:)``.
    public func makeProvider() throws -> BinaryProvider { try BinaryProvider(self) }
}
