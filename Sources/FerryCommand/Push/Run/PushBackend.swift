internal import Ferry
internal import FerryHTTP2
internal import FerryTerminal

/// The part of a run that depends on the protocol.
struct PushBackend: Sendable {
    /// Makes the provider, with this delivery of its outcomes.
    ///
    /// Throws the error of the provider's initialiser.
    var make: @Sendable (OutcomeDelivery) throws -> any LoopProvider
    /// The largest number of connections at the same time.
    var connectionLimit: Int
    var check: LineCheck
    /// The topic of lines without one. Nil if the provider supplies it.
    var topic: String?
    /// Whether the run uses only the binary protocol.
    var isBinary: Bool
    /// Whether the provider shows a certificate.
    var hasIdentity: Bool
    /// Whether notifications that may have arrived are sent again.
    var resendsUnknown: Bool
    /// Whether another protocol may take over when this one fails, so that no error ends the run.
    var hasFallback = false
    /// The file that changes the share of a migration. Nil: it does not change.
    var shareFile: ShareFile?

    /// - Throws: ``CommandFailure`` with status 2 when the credentials or other settings cannot be used.
    func makeProvider(_ outcomes: OutcomeDelivery) throws(CommandFailure) -> any LoopProvider {
        do {
            return try self.make(outcomes)
        } catch {
            throw .usage(ConnectionAdvice.sentence(error))
        }
    }

    /// - Parameter topic: the topic of lines without one.
    static func binary(_ configuration: BinaryConfiguration, topic: String?) -> PushBackend {
        PushBackend(
            make: { outcomes in
                var configuration = configuration
                configuration.outcomes = outcomes
                return try BinaryProvider(configuration)
            },
            connectionLimit: configuration.options.maxConnections,
            check: .payload(limit: configuration.options.payloadLimit),
            topic: topic,
            isBinary: true,
            hasIdentity: configuration.identity != nil,
            resendsUnknown: configuration.options.onUnknown == .resend
        )
    }

    static func http2(_ configuration: HTTP2Configuration) -> PushBackend {
        let usesTokens = if case .token = configuration.credentials { true } else { false }
        return PushBackend(
            make: { outcomes in
                var configuration = configuration
                configuration.outcomes = outcomes
                return try HTTP2Provider(configuration)
            },
            connectionLimit: configuration.options.maxConnections,
            check: .request(RequestCheck(bundleID: configuration.topic, usesTokens: usesTokens)),
            topic: nil,
            isBinary: false,
            hasIdentity: !usesTokens,
            resendsUnknown: configuration.options.onUnknown == .resend
        )
    }

    static func migrating(_ settings: (configuration: MigratingConfiguration, shareFile: ShareFile?)) -> PushBackend {
        let (binary, http2) = (settings.configuration.binary, settings.configuration.http2)
        return PushBackend(
            make: { outcomes in
                var configuration = settings.configuration
                configuration.outcomes = outcomes
                return try MigratingProvider(configuration)
            },
            connectionLimit: binary.options.maxConnections + http2.options.maxConnections,
            check: .payload(limit: PayloadLimit.http2),
            topic: nil,
            isBinary: false,
            hasIdentity: binary.identity != nil,
            resendsUnknown: binary.options.onUnknown == .resend || http2.options.onUnknown == .resend,
            hasFallback: settings.configuration.options.fallback != nil,
            shareFile: settings.shareFile
        )
    }
}
