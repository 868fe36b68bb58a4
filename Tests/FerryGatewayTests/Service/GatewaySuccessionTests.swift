import Ferry
import FerryCore
import FerryServer
import FerryServiceWorld
import FerryTesting
import NIOCore
import Testing

@testable import FerryGateway

/// The end of a gateway with sockets, and what its successor finds.
@Suite(.timeLimit(.minutes(10))) struct GatewaySuccessionTests {
    @Test func `while the store hangs the watchdog gets its notices, and nothing that was read is lost`() async throws {
        let store = MemoryStore()
        let manager = try ManagerSocket()
        try await GatewayHarness.run {
            $0.store = store
        } _: { harness in
            let notifier = try ServiceNotifier(to: manager.name)
            let watchdog = Watchdog(of: harness.gateway.eventLoop, limit: .milliseconds(300), notifier)
            let notification = try PushNotification(Payload(alert: "Hello"))
            store.hold()
            async let report = withProvider(harness.client) { provider in
                try await provider.submit(
                    contentsOf: (0..<100).map {
                        Submission(notification, to: try GatewayHarness.device($0), tag: PushTag(UInt64($0)))
                    }
                )
                return await provider.shutDown(within: GatewayHarness.forever)
            }
            while store.heldCount == 0 { await Task.yield() }
            for _ in 0..<20 { #expect(manager.next(within: 10_000) == "WATCHDOG=1") }
            store.release()
            _ = try await report
            watchdog.stop()
            // The client may end before APNs has everything.
            while harness.recorder.requests.count < 100 { await Task.yield() }
            #expect(harness.recorder.requests.count == 100)
            #expect(harness.recorder.duplicates.isEmpty)
        }
    }

    @Test func `at the end notifications without an answer stay in the store, and the successor delivers them once`()
        async throws
    {
        let store = MemoryStore()
        let devices = try (0..<50).map { try GatewayHarness.device($0) }
        try await GatewayHarness.run([.reject(Set(devices), reason: .internalServerError)]) {
            $0.store = store
        } _: { harness in
            let notification = try PushNotification(Payload(alert: "Hello"))
            _ = try await withProvider(harness.client) { provider in
                try await provider.submit(
                    contentsOf: devices.enumerated().map {
                        Submission(notification, to: $1, tag: PushTag(UInt64($0)))
                    }
                )
                return await provider.shutDown(within: GatewayHarness.forever)
            }
            let begin = ContinuousClock.now
            #expect(await harness.gateway.shutDown(within: GatewayHarness.forever))
            // Without a store, the gateway would have waited for APNs.
            #expect(begin.duration(to: .now) < .seconds(60))
            #expect(harness.recorder.requests.isEmpty)
        }
        try await GatewayHarness.run {
            $0.store = store
        } _: { harness in
            while harness.recorder.requests.count < 50 { await Task.yield() }
            #expect(Set(harness.recorder.requests.map(\.token)) == Set(devices))
            #expect(harness.recorder.requests.count == 50)
        }
    }

    @Test func `a start takes a store as soon as its owner has closed it`() async throws {
        let error = StoreError("gateway.db: another process uses it.", isInUse: true)
        let store = BusyStore(error: error, refusals: 3)
        let things = Locked<[Succession.Thing]>([])
        try await GatewayHarness.run {
            $0.store = store
            $0.succession = Succession { thing in things.withLock { $0.append(thing) } }
        } _: { _ in
            #expect(things.withLock { $0 } == [.store])
        }
        await #expect(throws: error) {
            try await GatewayHarness.run {
                $0.store = BusyStore(error: error, refusals: 1)
            } _: { _ in
            }
        }
    }

    /// A store that another process has for some tries.
    private final class BusyStore: GatewayStore {
        private let store = MemoryStore()
        private let error: StoreError
        private let refusals: Locked<Int>

        init(error: StoreError, refusals: Int) {
            self.error = error
            self.refusals = Locked(refusals)
        }

        func open() async throws(StoreError) -> StoreOpening {
            let isRefused = self.refusals.withLock { left in
                left -= 1
                return left >= 0
            }
            if isRefused { throw self.error }
            return await self.store.open()
        }

        func segments(after: UInt64) async throws(StoreError) -> [StoredSegment] {
            await self.store.segments(after: after)
        }

        func rows(_ table: StoreTable) async throws(StoreError) -> [StoreRow] { await self.store.rows(table) }

        func rows(_ table: StoreTable, after: [UInt8], limit: Int) async throws(StoreError) -> [StoreRow] {
            await self.store.rows(table, after: after, limit: limit)
        }

        func rows(_ table: StoreTable, keys: [[UInt8]]) async throws(StoreError) -> [StoreRow] {
            await self.store.rows(table, keys: keys)
        }

        func append(_ commit: StoreCommit, then: @escaping @Sendable (StoreAnswer) -> Void) {
            self.store.append(commit, then: then)
        }

        func close() async { await self.store.close() }
    }
}
