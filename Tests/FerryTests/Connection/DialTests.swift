import FerryMachine
import FerryOpenSSL
import FerryTesting
import Logging
import NIOCore
import NIOPosix
import Testing

@testable import Ferry

@Suite(.timeLimit(.minutes(10))) struct DialTests {
    /// `@unchecked Sendable`: the event loop sets it, and the test reads it afterwards.
    private final class Weak: @unchecked Sendable {
        weak var dial: Dial?
    }

    /// Makes a connection to a gateway that is there, or that is not. Returns when the dial is done.
    private func dial(_ gateway: SimulatedGateway, _ credentials: TestCredentials) async throws -> Weak {
        let connector = ProviderConnector(
            tls: try TLSConnector(
                host: gateway.host,
                port: gateway.port,
                serverName: "localhost",
                client: .init(trustRoots: credentials.trustRoots, identity: credentials.client),
                rejectUnauthorized: true,
                connectTimeout: .seconds(60)
            ),
            stallLimit: .seconds(60),
            finishing: .all
        )
        let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
        return await withCheckedContinuation { continuation in
            eventLoop.execute {
                let weak = Weak()
                let dial = connector.dial(on: eventLoop, logger: Logger(label: "test")) { result in
                    if case .established(let channel, _) = result { channel.close(promise: nil) }
                    eventLoop.execute { continuation.resume(returning: weak) }
                }
                weak.dial = dial
                dial.start()
            }
        }
    }

    @Test(arguments: [true, false])
    func `a dial that is done leaves nothing behind`(isThere: Bool) async throws {
        let credentials = try TestCredentials()
        let gateway = try await SimulatedGateway.start(.init(credentials: credentials))
        if !isThere { await gateway.stop() }
        let weak = try await self.dial(gateway, credentials)
        while weak.dial != nil {
            try Task.checkCancellation()
            await Task.yield()
        }
        await gateway.stop()
    }
}
