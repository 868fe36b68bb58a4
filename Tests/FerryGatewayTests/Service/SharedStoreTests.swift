import Ferry
import FerryTesting
import Testing

@testable import FerryGateway

/// A gateway over real sockets whose store may be taken by another one.
@Suite(.timeLimit(.minutes(10))) struct SharedStoreTests {
    @Test func `a gateway whose store is taken closes its clients, and then says that it has handed over`() async throws
    {
        let store = SharedMemoryStore()
        let (ends, continuation) = AsyncStream.makeStream(of: Void.self)
        try await GatewayHarness.run {
            $0.store = store
            $0.onHandedOver = { continuation.yield() }
        } _: { harness in
            let client = try BinaryProvider(harness.client)
            let events = client.events(bufferingNewest: 100)
            var batch = PushBatch()
            try batch.append(PushNotification(Payload(alert: "Hello")), to: GatewayHarness.device(1), tag: 1)
            try await client.submit(&batch)
            while try await harness.gateway.counts.accepted < 1 { await Task.yield() }
            store.fence()
            for await _ in ends { break }
            #expect(harness.events.all.contains(.handingOver))
            for await event in events {
                if case .disconnected = event { break }
            }
            _ = await client.shutDown(within: .zero)
            let isOver = await harness.gateway.shutDown(within: .seconds(5))
            #expect(isOver)
        }
    }
}
