import Ferry
import FerryTesting
import Testing

@testable import FerryGateway

/// The gateway over real sockets: a client of the binary protocol on one side, APNs over HTTP/2 on the other.
@Suite(.timeLimit(.minutes(10))) struct GatewayTests {
    @Test func `a notification of a client of the binary protocol reaches APNs once`() async throws {
        try await GatewayHarness.run { harness in
            let notification = try PushNotification(Payload(alert: "Hello"))
            let report = try await withProvider(harness.client) { provider in
                for number in 0..<2000 {
                    var batch = PushBatch()
                    try batch.append(notification, to: GatewayHarness.device(number), tag: PushTag(UInt64(number)))
                    try await provider.submit(&batch)
                }
                return await provider.shutDown(within: GatewayHarness.forever)
            }
            #expect(report.outcomes.accepted == 2000)
            // The client may end before APNs has everything.
            while try await harness.gateway.counts.accepted < 2000 { await Task.yield() }
            #expect(harness.recorder.requests.count == 2000)
            #expect(harness.recorder.duplicates.isEmpty)
            #expect(harness.recorder.requests.allSatisfy { $0.accepted.topic == GatewayHarness.topic })
            let counts = try await harness.gateway.counts
            #expect(counts.isConserved, "\(counts)")
            #expect(counts.accepted == 2000)
        }
    }

    @Test(arguments: [false, true])
    func `the handshake of a client whose topic is refused fails, so that it writes nothing, and both are said`(
        isAnyone: Bool
    ) async throws {
        // One of them goes out at a time, as a try, and the others wait.
        let devices = try (1...3).map { try GatewayHarness.device($0) }
        try await GatewayHarness.run([.reject(devices, reason: .topicDisallowed)]) {
            if isAnyone { $0.doors[0].clients = GatewayClients([(.anyone, 0)]) }
        } _: { harness in
            let notification = try PushNotification(Payload(alert: "Hello"))
            let first = try BinaryProvider(harness.client)
            var batch = PushBatch()
            for device in devices { try batch.append(notification, to: device, tag: 0) }
            try await first.submit(&batch)
            while !harness.events.all.contains(where: { if case .alarm = $0 { true } else { false } }) {
                await Task.yield()
            }
            let second = try BinaryProvider(harness.client)
            try batch.append(notification, to: devices[0], tag: 0)
            try await second.submit(&batch)
            let refusal = GatewayEvent.stranger(
                address: "127.0.0.1",
                "Notifications of old stack wait, as the alarm says."
            )
            while !harness.events.all.contains(refusal) { await Task.yield() }
            _ = await first.shutDown(within: .zero)
            let report = await second.shutDown(within: .zero)
            // A client that had written it would not know what became of it.
            #expect(report.outcomes.undelivered == 1, "\(report)")
            // A client that tries all the time is named once.
            #expect(harness.events.all.count { $0 == refusal } == 1)
        }
    }

    @Test func `notifications in the store are sent at the next start, before any client comes`() async throws {
        let store = MemoryStore()
        let device = try GatewayHarness.device(1)
        try await GatewayHarness.run([.reject([device], reason: .internalServerError)]) {
            $0.store = store
        } _: { harness in
            let notification = try PushNotification(Payload(alert: "Hello"))
            _ = try await withProvider(harness.client) { provider in
                let outcome = try await provider.send(notification, to: device)
                _ = await provider.shutDown(within: GatewayHarness.forever)
                return outcome
            }
        }
        try await GatewayHarness.run {
            $0.store = store
        } _: { harness in
            while harness.recorder.requests.isEmpty { await Task.yield() }
            #expect(harness.recorder.requests.count == 1)
        }
    }

    @Test func `a client that writes before the store has given it to the gateway loses nothing`() async throws {
        let store = MemoryStore()
        try await GatewayHarness.run {
            $0.store = store
        } _: { harness in
            store.hold()
            let notification = try PushNotification(Payload(alert: "Hello"))
            async let report = withProvider(harness.client) { provider in
                try await provider.submit(
                    contentsOf: (0..<500).map {
                        Submission(notification, to: try GatewayHarness.device($0), tag: PushTag(UInt64($0)))
                    }
                )
                return await provider.shutDown(within: GatewayHarness.forever)
            }
            while store.heldCount == 0 { await Task.yield() }
            store.release()
            _ = try await report
            // The client may end before APNs has everything.
            while harness.recorder.requests.count < 500 { await Task.yield() }
            #expect(harness.recorder.requests.count == 500)
            #expect(harness.recorder.duplicates.isEmpty)
        }
    }

    @Test func `bad tokens are refused once each, and what follows them arrives once`() async throws {
        let bad = try [100, 500, 501, 900, 1300, 1999].map { try GatewayHarness.device($0) }
        try await GatewayHarness.run([.reject(Set(bad), reason: .badDeviceToken)]) { harness in
            let notification = try PushNotification(Payload(alert: "Hello"))
            let report = try await withProvider(harness.client) { provider in
                let submissions = try (0..<2000).map {
                    Submission(notification, to: try GatewayHarness.device($0), tag: PushTag(UInt64($0)))
                }
                try await provider.submit(contentsOf: submissions)
                return await provider.shutDown(within: GatewayHarness.forever)
            }
            // The client may end before APNs has everything.
            while harness.recorder.requests.count < 2000 - bad.count { await Task.yield() }
            while harness.events.refusedTokens.count < bad.count { await Task.yield() }
            let counts = try await harness.gateway.counts
            #expect(harness.recorder.requests.count == 2000 - bad.count, "\(report) \(counts)")
            #expect(harness.recorder.duplicates.isEmpty, "\(counts)")
            #expect(Set(harness.events.refusedTokens) == Set(bad.map(\.bytes)))
            #expect(harness.events.refusedTokens.count == bad.count)
            #expect(counts.isConserved, "\(counts)")
        }
    }
}
