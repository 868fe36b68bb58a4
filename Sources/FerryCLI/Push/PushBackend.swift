internal import Ferry
internal import FerryHTTP2

/// What a run sends with: everything that differs between the wires.
struct PushBackend: Sendable {
    /// Makes the provider, whose outcomes go there, and their stream.
    ///
    /// Throws what the provider's initialiser throws.
    var make: @Sendable (OutcomeDelivery) throws -> (provider: any PushProvider, outcomes: OutcomeStream)
    var check: LineCheck
    /// The topic of lines that name none; nil where the provider knows it.
    var topic: String?
    /// Whether a certificate is shown.
    var hasIdentity: Bool

    /// - Throws: ``CommandFailure`` with status 2 when the credentials or what else was configured are of no use.
    func makeProvider(
        _ outcomes: OutcomeDelivery
    ) throws(CommandFailure) -> (provider: any PushProvider, outcomes: OutcomeStream) {
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
                let provider = try BinaryProvider(configuration)
                return (provider, provider.outcomes)
            },
            check: .payload(limit: configuration.options.payloadLimit),
            topic: topic,
            hasIdentity: configuration.identity != nil
        )
    }

    static func http2(_ configuration: HTTP2Configuration) -> PushBackend {
        let usesTokens = if case .token = configuration.credentials { true } else { false }
        return PushBackend(
            make: { outcomes in
                var configuration = configuration
                configuration.outcomes = outcomes
                let provider = try HTTP2Provider(configuration)
                return (provider, provider.outcomes)
            },
            check: .request(RequestCheck(bundleID: configuration.topic, usesTokens: usesTokens)),
            topic: nil,
            hasIdentity: !usesTokens
        )
    }
}
