internal import FerryCore
internal import FerryHTTP2
internal import FerryOpenSSL

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// A provider that speaks to APNs over HTTP/2.
///
/// It works on one event loop of the configured group, with up to `maxConnections` connections, which are made when
/// there is work. Every acceptance is proved: an outcome is `accepted(.confirmed)`, or it is none. All methods may be
/// called from any thread.
///
/// * The outcome of ``send(_:to:)`` comes with APNs' answer, and within `deadline` and `attemptTimeout` whatever happens.
/// * ``shutdown(within:proof:)`` says GOAWAY on each connection once everything has its outcome, and closes it. `proof` has
///   no meaning, because every acceptance is proved.
///
/// A provider should be shut down: ``shutdown(within:proof:)``, or ``withProvider(_:_:)``, which does it. When the last
/// reference is dropped instead, what was not written ends as `undelivered(.released)`, what was written and is not
/// answered as `uncertain(.released)`, and the connections are closed.
public final class HTTP2Provider: LoopProvider {
    /// The provider without its protocol.
    public let body: ProviderBody

    /// Makes a provider; connections and provider tokens come with work.
    ///
    /// Reads the trust roots, which may be a file.
    ///
    /// - Throws: ``TLSError`` when the certificate has expired or is not valid yet, when OpenSSL refuses the
    ///   credentials, or when the trust roots cannot be read; ``ConfigurationError`` when the port is not 1 to 65,535 or
    ///   the proxy cannot be asked; ``ValidationError`` when `topic` cannot be a topic.
    public init(_ configuration: HTTP2Configuration) throws {
        try configuration.identity?.validate(at: .now)
        let faults = PushNotification.faults(topic: configuration.topic)
        guard faults.isEmpty else { throw ValidationError(faults) }
        let options = configuration.options
        let client = HTTP2Client(
            options: options,
            authority: configuration.authority,
            bundleID: configuration.topic,
            usesTokens: configuration.tokens != nil
        )
        self.body = ProviderBody(
            ProviderDriver(
                client,
                connector: try ProviderConnector(configuration),
                options: .init(
                    eventLoopGroup: configuration.eventLoopGroup,
                    outcomes: configuration.outcomes,
                    queueLimit: options.queueLimit,
                    logger: configuration.logger,
                    tokens: configuration.tokens,
                    looksBeforeSleeping: options.looksBeforeSleeping
                )
            )
        )
    }
}

extension HTTP2Configuration: ProviderConfiguration {
    /// Makes a provider: see ``HTTP2Provider/init(_:)``.
    public func makeProvider() throws -> HTTP2Provider { try HTTP2Provider(self) }
}
