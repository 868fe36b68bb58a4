internal import Ferry
internal import FerryHTTP2

/// What a run sends with: everything that differs between the wires.
struct PushBackend: Sendable {
    /// Makes the provider, whose outcomes go there.
    ///
    /// Throws what the provider's initialiser throws.
    var make: @Sendable (OutcomeDelivery) throws -> any LoopProvider
    /// How many connections there may be at a time.
    var connectionLimit: Int
    var check: LineCheck
    /// The topic of lines that name none; nil where the provider knows it.
    var topic: String?
    /// Whether a certificate is shown.
    var hasIdentity: Bool
    /// Whether provider tokens speak for the provider.
    var usesTokens = false
    /// Whether what may have arrived is sent again.
    var resendsUnknown: Bool

    /// - Throws: ``CommandFailure`` with status 2 when the credentials or what else was configured are of no use.
    func makeProvider(_ outcomes: OutcomeDelivery) throws(CommandFailure) -> any LoopProvider {
        do {
            return try self.make(outcomes)
        } catch {
            throw .usage(ConnectionAdvice.sentence(error))
        }
    }

    /// - Parameter topic: of lines that name none.
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
            hasIdentity: !usesTokens,
            usesTokens: usesTokens,
            resendsUnknown: configuration.options.onUnknown == .resend
        )
    }
}
