internal import FerryTesting
internal import NIOCore
internal import Synchronization
internal import Testing

/// A running gateway with a recorder, and the values that the tests need with it.
struct GatewayFixture: Sendable {
    var gateway: SimulatedGateway
    var credentials: TestCredentials
    var recorder: AwaitedRecorder

    func connect() async throws -> RawClient {
        try await RawClient.connect(to: self.gateway, self.credentials)
    }

    /// The accepted identifiers, in the order of acceptance.
    var accepted: [UInt32?] { self.recorder.memory.notifications.map(\.accepted.identifier) }
}

func withGateway(
    _ script: GatewayScript = GatewayScript(),
    configure: (inout SimulatedGateway.Configuration) -> Void = { _ in },
    _ body: (GatewayFixture) async throws -> Void
) async throws {
    let credentials = try TestCredentials()
    let recorder = AwaitedRecorder()
    var configuration = SimulatedGateway.Configuration(credentials: credentials)
    configuration.script = script
    // With a short linger time, the gateway could close before a slow client has read all bytes.
    configuration.script.linger = .seconds(300)
    configuration.recorder = recorder
    configure(&configuration)
    let gateway = try await SimulatedGateway.start(configuration)
    let fixture = GatewayFixture(gateway: gateway, credentials: credentials, recorder: recorder)
    do {
        try await body(fixture)
    } catch {
        await gateway.stop()
        throw error
    }
    await gateway.stop()
}

/// A recorder that keeps all notifications, and lets a test wait for a number of them.
final class AwaitedRecorder: GatewayRecorder {
    let memory = GatewayMemoryRecorder()
    private let waiting = Mutex<[(count: Int, continuation: CheckedContinuation<Void, Never>)]>([])

    func accepted(_ notification: AcceptedNotification, token: Span<UInt8>, payload: Span<UInt8>) {
        self.memory.accepted(notification, token: token, payload: payload)
        self.resume()
    }

    func count(reaches count: Int) async {
        await withCheckedContinuation { continuation in
            self.waiting.withLock { $0.append((count, continuation)) }
            self.resume()
        }
    }

    private func resume() {
        let count = self.memory.notifications.count
        let due = self.waiting.withLock { waiting in
            defer { waiting.removeAll { $0.count <= count } }
            return waiting.filter { $0.count <= count }
        }
        for waiter in due { waiter.continuation.resume() }
    }
}
