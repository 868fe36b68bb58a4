internal import FerryCore
internal import FerryHTTP2
internal import FerryOpenSSL

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// A provider that speaks HTTP/2 with APNs.
///
/// It runs on one event loop of the configured group. It opens up to `maxConnections` connections when there is work.
/// Every acceptance is proved by an answer: an accepted notification always has the outcome `accepted(.confirmed)`. All
/// methods may be called from any thread.
///
/// * The outcome of ``LoopProvider/send(_:to:)`` comes with the answer of APNs, and at the latest after `deadline` plus
///   `attemptTimeout`.
/// * ``LoopProvider/shutDown(within:proof:)`` waits until everything has its outcome, then sends GOAWAY on each
///   connection and closes it. `proof` is ignored, because every acceptance is proved.
///
/// Shut a provider down with ``LoopProvider/shutDown(within:proof:)``, or use
/// ``withProvider(_:drainingWithin:proof:_:)->Result``, which does it. If the last reference is dropped instead, the connections
/// close. Notifications that were not written end as `undelivered(.released)`, and those that were written and not
/// answered as `uncertain(.released)`.
public final class HTTP2Provider: LoopProvider {
    /// The part of the provider that does not depend on its protocol.
    public let body: ProviderBody

    /// Makes a provider. It connects and gets provider tokens when there is work.
    ///
    /// Reads the trust roots, which may be a file.
    ///
    /// - Throws: ``TLSError`` when the certificate has expired or is not valid yet, when OpenSSL refuses the
    ///   credentials, or when the trust roots cannot be read; ``ConfigurationError`` when the host is Apple's and not for
    ///   HTTP/2 or not for the certificate's environment, when the port is not 1 to 65,535, or when the proxy is
    ///   invalid; ``PushValidationError`` when `topic` cannot be a topic.
    public init(_ configuration: HTTP2Configuration) throws {
        try AppleHost.require(configuration.host, for: .http2)
        try AppleHost.require(configuration.host, for: configuration.identity)
        try configuration.identity?.validate(at: .now)
        let faults = PushNotification.faults(topic: configuration.topic)
        guard faults.isEmpty else { throw PushValidationError(faults) }
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
                    observer: configuration.observer,
                    looksBeforeSleeping: options.looksBeforeSleeping
                )
            ),
            spans: configuration.tracer.map {
                ProviderSpans($0, host: configuration.host, port: configuration.port, topic: configuration.topic)
            }
        )
    }
}

extension HTTP2Configuration: ProviderConfiguration {
    /// Makes a provider: see ``HTTP2Provider/init(_:)``.
    public func makeProvider() throws -> HTTP2Provider { try HTTP2Provider(self) }
}
