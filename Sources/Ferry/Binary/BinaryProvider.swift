internal import FerryBinary
internal import FerryCore
internal import FerryOpenSSL
internal import Logging

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// A provider that speaks the legacy binary protocol.
///
/// It works on one event loop of the configured group, with up to `maxConnections` connections, which are made when
/// there is work and closed when they were idle for `connectionTimeout`. All methods may be called from any thread.
///
/// * The outcome of ``send(_:to:)`` comes, without an error response, after a round trip and the settle time.
/// * ``drain(within:)`` takes a round trip and the settle time from the last write, if nothing goes wrong.
/// * ``shutdown(within:proof:)`` half-closes each connection once everything has its outcome, and listens until the peer
///   ends it, for at most 5 s of the limit: an error response may still be on its way, and what it discards is sent again.
///
/// A provider should be shut down: ``shutdown(within:proof:)``, or ``withProvider(_:_:)``, which does it. When the last
/// reference is dropped instead, what was not written ends as `undelivered(.released)`, what was written and is not
/// settled as `uncertain(.released)`, and the connections are closed.
public final class BinaryProvider: LoopProvider {
    /// The provider without its protocol.
    public let body: ProviderBody

    /// Makes a provider; connections come with work.
    ///
    /// Reads the trust roots, which may be a file.
    ///
    /// - Throws: ``TLSError`` when the certificate has expired or is not valid yet, when OpenSSL refuses the
    ///   credentials, or when the trust roots cannot be read; ``ConfigurationError`` when
    ///   the port is not 1 to 65,535.
    public init(_ configuration: BinaryConfiguration) throws {
        try configuration.identity?.validate(at: .now)
        let options = configuration.options
        self.body = ProviderBody(
            ProviderDriver(
                BinaryClient(options: options),
                connector: try ProviderConnector(configuration),
                options: .init(
                    eventLoopGroup: configuration.eventLoopGroup,
                    outcomes: configuration.outcomes,
                    queueLimit: options.queueLimit,
                    logger: configuration.logger
                )
            )
        )
        if options.cachePolicy == .hold, !options.autoAdjustCache {
            configuration.logger.debug(
                "the cache does not grow: no more than its length is sent in a round trip and a settle time",
                metadata: [
                    "apns.cacheLength": "\(options.cacheLength)", "apns.settleTime": "\(options.settleTime)",
                ]
            )
        }
    }
}

extension BinaryConfiguration: ProviderConfiguration {
    /// Makes a provider: see ``BinaryProvider/init(_:)``.
    public func makeProvider() throws -> BinaryProvider { try BinaryProvider(self) }
}
