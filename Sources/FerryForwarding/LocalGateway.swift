package import Ferry
package import FerryGateway
package import FerryTesting
package import NIOCore

/// A gateway in this process, in front of a simulated APNs, for the client of ``TestCredentials``.
package struct LocalGateway: LocalServer {
    /// The topic that the gateway gives to every notification.
    package static let topic = "com.example.ferry"

    private let gateway: Gateway
    private let upstream: GatewayUpstream
    private let credentials: TestCredentials

    /// Starts a gateway on any port of the loopback address.
    ///
    /// - Parameters:
    ///   - group: the event loops of the gateway and of its connections to APNs.
    ///   - shared: a store of several gateways, and the event loop on which the store runs; the gateway runs there,
    ///     too.
    ///   - change: changes the configuration.
    package static func start(
        before apns: SimulatedAPNs,
        _ credentials: TestCredentials,
        on group: (any EventLoopGroup)? = nil,
        sharing shared: (store: any SharedStore, eventLoop: any EventLoop)? = nil,
        _ change: (inout Gateway.Configuration) -> Void = { _ in }
    ) async throws -> LocalGateway {
        var forwarding = credentials.http2(to: apns, try credentials.tokenSource(), outcomes: .discard)
        if let group { forwarding.eventLoopGroup = group }
        if let shared { forwarding.right = shared.store.right }
        let upstream = try GatewayUpstream.over(http2: forwarding)
        var configuration = Gateway.Configuration(
            identity: credentials.server,
            clients: GatewayClients([(.fingerprints([credentials.client.summary.fingerprint]), 0)]),
            identities: [ClientIdentity(name: "old stack", routes: [0])],
            routes: [Route(upstream: 0, topic: Array(Self.topic.utf8))]
        )
        if let shared { configuration.store = shared.store }
        change(&configuration)
        do {
            let gateway = try await Gateway.start(configuration, upstreams: [upstream], on: shared?.eventLoop ?? group)
            return LocalGateway(gateway: gateway, upstream: upstream, credentials: credentials)
        } catch {
            _ = await upstream.provider.shutDown(within: .zero)
            throw error
        }
    }

    package var host: String { self.gateway.host }
    package var port: Int { self.gateway.port }
    package var feedbackPort: Int? { self.gateway.feedbackPort }

    package var counts: FateCounts {
        get async throws { try await self.gateway.counts }
    }

    /// The configuration of a client of the binary protocol.
    package func client(outcomes: OutcomeDelivery) -> BinaryConfiguration {
        self.credentials.binary(host: self.host, port: self.port, outcomes: outcomes)
    }

    /// Shuts the gateway down, and then its connections to APNs.
    ///
    /// - Parameter limit: the time to wait for missing answers.
    package func stop(within limit: Duration) async {
        _ = await self.gateway.shutDown(within: limit)
        _ = await self.upstream.provider.shutDown(within: .zero)
    }
}
