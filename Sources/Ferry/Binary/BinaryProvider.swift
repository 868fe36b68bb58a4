internal import FerryBinary
public import FerryCore
public import FerryOpenSSL
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
/// A provider should be shut down: ``shutdown(within:proof:)``, or ``withProvider(_:_:)``, which does it. When the last
/// reference is dropped instead, what was not written ends as `undelivered(.released)`, what was written and is not
/// settled as `uncertain(.released)`, and the connections are closed.
public final class BinaryProvider: PushProvider {
    private let core: ProviderCore<BinaryClient>

    /// Makes a provider; connections come with work.
    ///
    /// Reads the trust roots, which may be a file.
    ///
    /// - Throws: ``TLSError`` when the certificate has expired or is not valid yet, when OpenSSL refuses the
    ///   credentials, when the trust roots cannot be read, or when the port is none.
    public init(_ configuration: BinaryConfiguration) throws(TLSError) {
        try configuration.identity?.validate(at: .now)
        let options = configuration.options
        self.core = ProviderCore(
            BinaryClient(options: options),
            connector: try ProviderConnector(configuration),
            options: .init(
                eventLoopGroup: configuration.eventLoopGroup,
                outcomes: configuration.outcomes,
                queueLimit: options.queueLimit,
                logger: configuration.logger
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

    /// The outcomes, when the provider was made with ``OutcomeDelivery/stream``; else it ends at once.
    ///
    /// Cost: O(1). For one consumer, on any task.
    public var outcomes: OutcomeStream { self.core.outcomes }

    /// Takes the notifications of `batch` from its front, as room appears: see ``PushProvider/submit(_:)``.
    ///
    /// There is room while fewer than `queueLimit` notifications wait to be written or for their outcome to be read.
    public func submit(_ batch: inout PushBatch) async throws(SubmitError) {
        try await self.core.submit(&batch)
    }

    /// Takes what fits at once and never waits: see ``PushProvider/trySubmit(_:)``.
    public func trySubmit(_ batch: inout PushBatch) {
        self.core.trySubmit(&batch)
    }

    /// Sends one notification and returns its outcome: see ``PushProvider/send(_:to:)``.
    ///
    /// Without an error response the outcome comes after a round trip and the settle time.
    public func send(_ notification: PushNotification, to device: DeviceToken) async throws(SubmitError) -> Outcome {
        try await self.core.send(notification, to: device)
    }

    /// A new subscription to the provider's events: see ``PushProvider/events(bufferingNewest:)``.
    public func events(bufferingNewest limit: Int) -> ProviderEvents {
        self.core.events(bufferingNewest: limit)
    }

    /// The same without ``ProviderEvent/transmitted(_:tags:)``, which costs an event for each write.
    package func eventsWithoutTransmitted(bufferingNewest limit: Int) -> ProviderEvents {
        self.core.events(bufferingNewest: limit, takesTransmitted: false)
    }

    /// Waits until everything that was taken has its outcome: see ``PushProvider/drain(within:)``.
    ///
    /// Takes a round trip and the settle time from the last write, if nothing goes wrong.
    public func drain(within limit: Duration) async -> DrainReport {
        await self.core.drain(within: limit)
    }

    /// Takes nothing more, sends what was taken, and gives every notification its outcome: see
    /// ``PushProvider/shutdown(within:proof:)``.
    ///
    /// Once all have theirs, each connection is half-closed and listened to until the peer ends it, for at most 5 s of
    /// `limit`: an error response may still be on its way, and what it discards is sent again.
    public func shutdown(within limit: Duration, proof: Proof = .automatic) async -> DrainReport {
        await self.core.shutdown(within: limit, proof: proof)
    }
}
