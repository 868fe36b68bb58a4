import FerryGateway
import FerryTesting
import Testing

@testable import FerryShards

@Suite struct ShardSetupTests {
    @Test func `The feedback service leaves the upstreams of all shards their descriptors`() throws {
        let credentials = try TestCredentials()
        var gateway = Gateway.Configuration(
            identity: credentials.server,
            clients: GatewayClients([]),
            identities: [],
            routes: []
        )
        gateway.upstreams = ["a", "b", "c"].map { GatewayTables.Upstream(name: $0) }
        var setup = ShardProcess.Setup(connection: "", node: "gw1", gateway: gateway) { _, _ in
            throw CancellationError()
        }
        setup.shards = 64
        let feedback = ShardProcess.feedbackConfiguration(of: setup)
        #expect(feedback.gateways == 64 && feedback.upstreams.isEmpty && feedback.otherUpstreams == 3)
    }
}
