package import Ferry
internal import FerryCore
package import FerryGateway
internal import FerryOpenSSL
package import Logging

extension GatewayUpstream {
    /// The time that a written notification waits for its answer while the upstream answers PINGs. Its old client does
    /// not hear that an outcome is uncertain, so it cannot decide what to do.
    private static let lateAnswerLimit: Duration = .seconds(300)

    /// Makes an upstream: its provider, and the closure that makes the providers of its side connections.
    ///
    /// - Parameters:
    ///   - configuration: its outcomes are set here, and the options for which the gateway has rules of its own.
    ///   - sideLogger: the log of the side connections; nil: that of the upstream.
    /// - Throws: what ``HTTP2Provider`` throws for a configuration that cannot be used.
    package static func over(http2 configuration: HTTP2Configuration, sideLogger: Logger? = nil) throws
        -> GatewayUpstream
    {
        var configuration = configuration
        configuration.options.queueLimit = GatewayUpstream.queueLimit
        configuration.options.delayLimit = 0
        configuration.options.lateAnswerLimit = Self.lateAnswerLimit
        // A breaker would stop all clients for the refusals of one. The gateway counts them for each client and topic.
        configuration.options.circuitBreaker = nil
        let outcomes = UpstreamOutcomes()
        configuration.outcomes = .sink(outcomes)
        let provider = try HTTP2Provider(configuration)
        return GatewayUpstream(provider, outcomes: outcomes) { [configuration] ended in
            let outcomes = UpstreamOutcomes()
            var side = configuration
            side.outcomes = .sink(outcomes)
            if let sideLogger { side.logger = sideLogger }
            side.observer = ConnectionEnds(ended)
            // Another connection would have a count of refusals of its own.
            side.options.maxConnections = 1
            return (try? HTTP2Provider(side)).map { Side($0, outcomes: outcomes) }
        }
    }

    /// The host and the credential of an upstream, as bytes that last. With another host or credential, earlier answers
    /// of APNs prove nothing.
    package static func key(_ configuration: HTTP2Configuration, keyID: String?) -> [UInt8] {
        let credential =
            switch configuration.credentials {
            case .token(let source): "\(source.teamID ?? "") \(keyID ?? "")"
            case .certificate(let identity): identity.summary.fingerprintHex
            @unknown default: ""
            }
        return Array("\(configuration.host):\(configuration.port) \(credential)".utf8)
    }
}

/// Says when a connection of a provider ended.
private struct ConnectionEnds: ProviderObserver {
    private let ended: @Sendable () -> Void

    init(_ ended: @escaping @Sendable () -> Void) { self.ended = ended }

    func observed(_ activity: ProviderActivity) {
        if activity.disconnected > 0 { self.ended() }
    }
}
