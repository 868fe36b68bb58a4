public import FerryCore
internal import FerryHTTP2
internal import FerryMachine
internal import FerryOpenSSL
internal import FerryPlatform

/// A provider that speaks HTTP/2 with APNs.
///
/// It runs on ``HTTP2Configuration/loopCount`` event loops of the configured group. It opens up to `maxConnections`
/// connections when there is work. An answer proves every acceptance, so an accepted notification always has the
/// outcome `accepted(.confirmed)`. All methods may be called from any thread.
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
        try configuration.validate()
        let connector = try ProviderConnector(configuration)
        let options = configuration.options
        let loops = configuration.eventLoopGroup.loops(atMost: min(configuration.loopCount, options.maxConnections))
        let dials = DialRegister()
        let commons = ProviderCommons(
            loopCount: loops.count,
            outcomes: configuration.outcomes,
            queueLimit: options.queueLimit,
            observer: configuration.observer,
            logger: configuration.logger,
            goneDevices: configuration.goneDevices
        )
        let drivers = loops.enumerated().map { index, loop in
            ProviderDriver(
                configuration.makeClient(LoopPart(index, of: loops.count), dials: dials),
                on: loop,
                index: index,
                commons: commons,
                connector: { _ in connector },
                options: .init(
                    logger: configuration.logger,
                    tokens: configuration.tokens,
                    right: configuration.right,
                    looksBeforeSleeping: options.looksBeforeSleeping,
                    patience: Patience(http2: options)
                )
            )
        }
        self.body = ProviderBody(
            commons,
            drivers,
            spans: configuration.tracer.map {
                ProviderSpans($0, host: configuration.host, port: configuration.port, topic: configuration.topic)
            }
        )
    }
}

extension HTTP2Provider {
    /// Sends one notification to all devices that follow a broadcast channel, and returns its outcome.
    ///
    /// It waits in the same queue as other notifications, has the same deadline, and is repeated in the same way. A
    /// cancellation has the effect that ``PushProvider/send(_:to:)`` describes. There is one answer for all devices,
    /// and APNs does not report which of them got the notification.
    ///
    /// | of the request | where it comes from |
    /// |---|---|
    /// | path | the notification's topic, or that of the configuration: the bundle ID, without a suffix |
    /// | `apns-push-type` | liveactivity; another push type is refused |
    /// | `apns-priority` | the notification's, or 10 |
    /// | `apns-expiration` | the notification's, or 0. A channel that stores no messages takes 0 only |
    /// | `apns-request-id` | the notification's ``PushNotification/apnsID``, or a new one |
    ///
    /// The payload has at most 5120 bytes. A collapse id is refused: a broadcast has none.
    ///
    /// Source: "Sending broadcast push notification requests to APNs" (Apple).
    ///
    /// - Throws: ``SubmitError`` when the notification was not taken.
    public func broadcast(
        _ notification: PushNotification,
        to channel: ChannelID
    ) async throws(SubmitError) -> Outcome {
        try await self.body.send(notification, to: .channel(channel))
    }
}

extension HTTP2Configuration {
    /// - Throws: the errors of ``HTTP2Provider/init(_:)`` about host, certificate and topic.
    func validate() throws {
        try AppleHost.require(self.host, for: .http2)
        try AppleHost.require(self.host, for: self.identity)
        try self.identity?.validate(at: .now)
        let faults = PushNotification.faults(topic: self.topic)
        guard faults.isEmpty else { throw PushValidationError(faults) }
    }

    /// Makes the machine of one of a provider's event loops.
    ///
    /// - Parameter dials: the new connections of all loops.
    func makeClient(_ part: LoopPart, dials: DialRegister) -> HTTP2Client {
        HTTP2Client(
            options: self.options.part(part),
            authority: self.authority,
            proxy: self.proxy.map { "\($0)" },
            bundleID: self.topic,
            usesTokens: self.tokens != nil,
            dials: dials
        )
    }
}

extension HTTP2Configuration: ProviderConfiguration {
    /// Makes a provider: see ``HTTP2Provider/init(_:)``.
    public func makeProvider() throws -> HTTP2Provider { try HTTP2Provider(self) }
}
