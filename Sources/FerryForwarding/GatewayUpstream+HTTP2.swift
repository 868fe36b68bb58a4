package import Ferry
internal import FerryCore
package import FerryGateway
internal import FerryOpenSSL
package import Logging

extension GatewayUpstream {
    /// The longest time that a written notification waits for its answer while the upstream answers PINGs. The time
    /// is long, because no response can tell an old client that an outcome is uncertain.
    private static let lateAnswerLimit: Duration = .seconds(300)

    /// Makes an upstream: its provider, and the closure that makes the providers of its side connections.
    ///
    /// - Parameters:
    ///   - configuration: the provider's configuration. This call sets its outcomes, and the options for which the
    ///     gateway has its own rules.
    ///   - watch: gets the activity of the common connections.
    ///   - sideLogger: the log of the side connections; nil for the log of the upstream.
    /// - Throws: the error of ``HTTP2Provider`` for a configuration that cannot be used.
    package static func over(
        http2 configuration: HTTP2Configuration,
        watch: UpstreamWatch = UpstreamWatch(),
        sideLogger: Logger? = nil
    ) throws -> GatewayUpstream {
        var configuration = configuration
        configuration.options.queueLimit = GatewayUpstream.queueLimit
        configuration.options.delayLimit = 0
        configuration.options.lateAnswerLimit = Self.lateAnswerLimit
        // A breaker would stop all clients because of one client. The gateway counts refusals by client and topic.
        configuration.options.circuitBreaker = nil
        let outcomes = UpstreamOutcomes()
        configuration.outcomes = .sink(outcomes)
        configuration.observer = watch
        let provider = try HTTP2Provider(configuration)
        return GatewayUpstream(provider, outcomes: outcomes, watch: watch) { [configuration] ended in
            let outcomes = UpstreamOutcomes()
            var side = configuration
            side.outcomes = .sink(outcomes)
            if let sideLogger { side.logger = sideLogger }
            side.observer = ConnectionEnds(ended)
            // APNs counts refusals for each connection, and the gateway has one budget for each side connection.
            side.options.maxConnections = 1
            return (try? HTTP2Provider(side)).map { Side($0, outcomes: outcomes) }
        }
    }

    /// The host, port and credential of an upstream, as bytes that stay the same after a restart. If one of the three
    /// changes, earlier answers of APNs prove nothing.
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

/// Reports the end of a provider's connection.
private struct ConnectionEnds: ProviderObserver {
    private let ended: @Sendable () -> Void

    init(_ ended: @escaping @Sendable () -> Void) { self.ended = ended }

    func observed(_ activity: ProviderActivity) {
        if activity.disconnected > 0 { self.ended() }
    }
}
