import FerryBinary
import FerryCore
import FerryOpenSSL
import FerryTesting
import Testing

@testable import FerryGateway
@testable import FerryGatewayTestSupport

/// Programs that open a connection for each notification, over real sockets and TLS.
@Suite(.timeLimit(.minutes(5))) struct SingleConnectionTests {
    private static func connect(_ harness: GatewayHarness, _ context: TLSContext) async throws -> ChaosConnection {
        try await ChaosConnection.open(to: harness.gateway.host, port: harness.gateway.port, context)
    }

    private static func frame(_ name: Int) -> [UInt8] {
        Push(number: name, name: UInt32(name)).bytes(command: 1, identifier: 0x5048_5000, expiration: 2_000_000_000)
    }

    @Test func `a bad token is told on its own connection, and nothing is lost or doubled`() async throws {
        let bad = try (100..<104).map { try GatewayHarness.device($0) }
        try await GatewayHarness.run([.reject(Set(bad), reason: .badDeviceToken)]) { harness in
            let context = try TLSContext(
                client: .init(
                    trustRoots: harness.credentials.trustRoots,
                    identity: harness.credentials.client,
                    versions: .tls12 ... .tls12
                )
            )
            for number in 0..<5 {
                let connection = try await Self.connect(harness, context)
                try await connection.write(Self.frame(number))
                while harness.recorder.requests.count <= number { try await Task.sleep(for: .milliseconds(1)) }
                _ = await connection.finish()
                #expect(connection.received.isEmpty)
            }
            for number in [10, 100, 101, 11, 102, 12, 103] {
                let before = try await harness.gateway.counts.deferred
                let connection = try await Self.connect(harness, context)
                try await connection.write(Self.frame(number))
                guard number >= 100 else {
                    let device = try GatewayHarness.device(number)
                    while harness.recorder.counts[device] == nil { try await Task.sleep(for: .milliseconds(1)) }
                    _ = await connection.finish()
                    #expect(connection.received.isEmpty)
                    continue
                }
                // On a slow machine the answer of APNs comes too late to be told.
                while connection.received.isEmpty {
                    try await Task.sleep(for: .milliseconds(1))
                    guard try await harness.gateway.counts.deferred == before else { break }
                }
                _ = await connection.finish()
                let isTold = connection.received == [8, 8, 0x50, 0x48, 0x50, 0]
                let isDeferred = try await harness.gateway.counts.deferred > before
                #expect(isTold != isDeferred, "\(connection.received)")
            }
            #expect(harness.recorder.requests.count == 8)
            #expect(harness.recorder.counts.values.allSatisfy { $0 == 1 })
            #expect(harness.events.refusedTokens.count == bad.count)
            let counts = try await harness.gateway.counts
            #expect(counts.told + counts.deferred == bad.count && counts.isConserved, "\(counts)")
        }
    }
}
