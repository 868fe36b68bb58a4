import Ferry
import FerryCore
import FerryMachine
import FerryTesting
import NIOCore
import NIOPosix
import Testing

@testable import FerryGateway

/// A gateway over real sockets whose store may be taken by another one.
@Suite(.timeLimit(.minutes(10))) struct SharedStoreTests {
    /// A clock that the test sets.
    private final class Clock: Sendable {
        private let now = Locked(NIODeadline.uptimeNanoseconds(1))

        var time: NIODeadline {
            get { self.now.withLock { $0 } }
            set { self.now.withLock { $0 = newValue } }
        }
    }

    private func connects(to gateway: Gateway) async -> Bool {
        let channel = try? await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connect(host: gateway.host, port: gateway.port).get()
        try? await channel?.close()
        return channel != nil
    }

    private func until(_ condition: () async -> Bool) async { while !(await condition()) { await Task.yield() } }

    private func deliver(_ range: Range<Int>, through harness: GatewayHarness) async throws {
        let notification = try PushNotification(Payload(alert: "Hello"))
        let report = try await withProvider(harness.client) { provider in
            for number in range {
                var batch = PushBatch()
                try batch.append(notification, to: GatewayHarness.device(number), tag: PushTag(UInt64(number)))
                try await provider.submit(&batch)
            }
            return await provider.shutDown(within: GatewayHarness.forever)
        }
        #expect(report.outcomes.accepted == range.count)
    }

    @Test func `the address of the clients is open only with the right to forward`() async throws {
        let clock = Clock()
        let right = ForwardingRight { clock.time }
        right.set(until: clock.time + .seconds(3))
        try await GatewayHarness.run {
            $0.store = SharedMemoryStore(right: right)
        } _: { harness in
            try await self.deliver(0..<10, through: harness)
            clock.time = clock.time + .seconds(3)
            await self.until { !(await self.connects(to: harness.gateway)) }
            right.set(until: clock.time + .seconds(3))
            await self.until { await self.connects(to: harness.gateway) }
            try await self.deliver(10..<20, through: harness)
            await self.until { harness.recorder.requests.count >= 20 }
            #expect(harness.recorder.requests.count == 20)
            #expect(harness.recorder.duplicates.isEmpty)
        }
    }

    @Test func `a notification stays in the gateway while the right to forward is missing`() async throws {
        let clock = Clock()
        let right = ForwardingRight { clock.time }
        right.set(until: clock.time + .seconds(3))
        try await GatewayHarness.run {
            $0.store = SharedMemoryStore(right: right)
        } _: { harness in
            let (client, gateway) = (try BinaryProvider(harness.client), harness.gateway)
            let notification = try PushNotification(Payload(alert: "Hello"))
            func push(_ number: Int) async throws {
                var batch = PushBatch()
                try batch.append(notification, to: GatewayHarness.device(number), tag: PushTag(UInt64(number)))
                try await client.submit(&batch)
            }
            try await push(1)
            while try await gateway.counts.accepted < 1 { await Task.yield() }
            clock.time = clock.time + .seconds(3)
            try await push(2)
            while try await gateway.counts.read < 2 { await Task.yield() }
            await withCheckedContinuation { stored in
                let driver = gateway.driver
                driver.eventLoop.execute { driver.settle { stored.resume() } }
            }
            let counts = try await gateway.counts
            #expect(counts.forwarded == 1 && counts.waiting == 1)
            right.set(until: clock.time + .seconds(3))
            while try await gateway.counts.accepted < 2 { await Task.yield() }
            #expect(harness.recorder.duplicates.isEmpty)
            _ = await client.shutDown(within: .zero)
        }
    }

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
