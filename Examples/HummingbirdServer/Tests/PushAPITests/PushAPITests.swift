import Ferry
import FerryTesting
import Foundation
import Hummingbird
import PushAPI
import Testing

struct PushAPITests {
    private let token = String(repeating: "00fc", count: 16)

    private func post(_ path: String, to server: TestServer) async throws -> TestServer.Answer {
        try await server.send(.post, path, Data(#"{"text":"Hello"}"#.utf8))
    }

    private func answer(_ response: TestServer.Answer) throws -> PushAnswer {
        try JSONDecoder().decode(PushAnswer.self, from: response.body)
    }

    @Test func `a device that lost the app is to be forgotten`() async throws {
        let provider = FakeProvider(topic: "com.example.app") { _, _ in
            .rejected(Rejection(reason: .unregistered, origin: .apns, status: 410))
        }
        try await TestServer.run(makeApplication(provider: provider)) { server in
            let response = try await self.post("devices/\(self.token)", to: server)
            #expect(response.status == .unprocessableContent)
            let answer = try self.answer(response)
            #expect(answer.forgetToken)
        }
        let device = try DeviceToken(hex: self.token)
        #expect(provider.submissions.map(\.device) == [device])
    }

    @Test func `a malformed device token is the caller's fault, and nothing is sent`() async throws {
        let provider = FakeProvider(topic: "com.example.app")
        try await TestServer.run(makeApplication(provider: provider)) { server in
            let response = try await self.post("devices/none", to: server)
            #expect(response.status == .badRequest)
        }
        #expect(provider.submissions.isEmpty)
    }

    @Test func `a notification that could not be sent may be sent again`() async throws {
        let provider = FakeProvider(topic: "com.example.app") { _, _ in .undelivered(.noConnection) }
        try await TestServer.run(makeApplication(provider: provider)) { server in
            let response = try await self.post("devices/\(self.token)", to: server)
            #expect(response.status == .serviceUnavailable)
        }
    }

    @Test func `the real provider sends, and shuts down with the application`() async throws {
        let credentials = try TestCredentials()
        let apns = try await SimulatedAPNs.start(.init(credentials: credentials))
        var configuration = HTTP2Configuration(
            host: apns.host,
            port: apns.port,
            credentials: .certificate(credentials.client),
            topic: "com.example.ferry",
            outcomes: .discard
        )
        configuration.trustRoots = credentials.trustRoots
        let provider = try HTTP2Provider(configuration)
        try await TestServer.run(makeApplication(provider: provider)) { server in
            let response = try await self.post("devices/\(self.token)", to: server)
            #expect(response.status == .ok)
            let answer = try self.answer(response)
            #expect(answer == PushAnswer(outcome: "accepted (confirmed)", forgetToken: false))
        }
        await #expect(throws: SubmitError.shutDown) {
            try await provider.send(PushNotification(Payload(alert: "Late")), to: DeviceToken(hex: self.token))
        }
        await apns.stop()
    }
}
