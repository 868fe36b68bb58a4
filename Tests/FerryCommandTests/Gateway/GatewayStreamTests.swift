import Ferry
import FerryTesting
import Foundation
import Testing

/// The gateway with a standard error that nobody reads.
@Suite(.timeLimit(.minutes(10))) struct GatewayStreamTests {
    @Test func `a standard error that nobody reads stops neither deliveries nor the end`() async throws {
        try await GatewayHarness.run { harness in
            let pipe = try FullPipe(in: harness.directory)
            // A port at which nothing listens yet.
            let free = try await SimulatedAPNs.start(.init(credentials: harness.credentials))
            let apnsPort = free.port
            await free.stop()
            let (gateway, port) = try await harness.start(
                port: apnsPort,
                shell: "exec \"$@\" 2>'\(pipe.path)'"
            )
            // The provider logs that nothing listens.
            _ = try await harness.push(1...2, to: port)
            var configuration = SimulatedAPNs.Configuration(credentials: harness.credentials)
            configuration.port = apnsPort
            let apns = try await SimulatedAPNs.start(configuration)
            _ = try await harness.push(3...5, to: port)
            #expect(try await eventually(within: .seconds(60)) { apns.counts.accepted == 5 })
            gateway.terminate()
            #expect(await gateway.ends(within: .seconds(60)))
            #expect(pipe.read() == "")
            await gateway.killAndWait()
            await apns.stop()
        }
    }
}
