public import FerryCore
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
/// A provider should be shut down: ``shutdown(within:proof:)``, or ``withProvider(_:_:)``, which does it. When the last
/// reference is dropped instead, what was not written ends as `undelivered(.released)`, what was written and is not
/// answered as `uncertain(.released)`, and the connections are closed.
public final class HTTP2Provider: PushProvider {
    private let core: ProviderCore<HTTP2Wire>

    /// Makes a provider; connections and provider tokens come with work.
    ///
    /// Reads the trust roots, which may be a file.
    ///
    /// - Throws: ``TLSError`` when the certificate has expired or is not valid yet, when OpenSSL refuses the
    ///   credentials, when the trust roots cannot be read, or when the port or the proxy is none; ``ValidationError``
    ///   when `topic` cannot be a topic.
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
        self.core = ProviderCore(
            HTTP2Wire(client, tokens: configuration.tokens),
            connector: try ProviderConnector(configuration),
            options: .init(
                eventLoopGroup: configuration.eventLoopGroup,
                outcomes: configuration.outcomes,
                queueLimit: options.queueLimit,
                logger: configuration.logger
            )
        )
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
    /// The outcome comes with APNs' answer, and within `deadline` and `attemptTimeout` whatever happens.
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
    public func drain(within limit: Duration) async -> DrainReport {
        await self.core.drain(within: limit)
    }

    /// Takes nothing more, sends what was taken, and gives every notification its outcome: see
    /// ``PushProvider/shutdown(within:proof:)``.
    ///
    /// Once all have theirs, each connection says GOAWAY and is closed.
    ///
    /// - Parameter proof: has no meaning here: every acceptance is proved.
    public func shutdown(within limit: Duration, proof: Proof = .automatic) async -> DrainReport {
        await self.core.shutdown(within: limit, proof: proof)
    }
}
