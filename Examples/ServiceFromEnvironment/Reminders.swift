import Ferry
import Logging
import ServiceLifecycle

/// Sends a reminder for each message until the messages end or the group shuts down.
struct Reminders: Service {
    struct Message: Sendable {
        var device: DeviceToken
        var text: String
    }

    let messages: AsyncStream<Message>
    /// Any provider will do: one of the two protocols, or the `FakeProvider` of a test.
    let provider: any PushProvider
    let logger: Logger

    func run() async throws {
        for await message in self.messages.cancelOnGracefulShutdown() {
            do {
                // The binary protocol has no push type, and leaves it out.
                let notification = try PushNotification(
                    Payload(alert: .init(body: message.text)),
                    pushType: .alert,
                    expiration: .after(.seconds(3600))
                )
                switch try await self.provider.send(notification, to: message.device) {
                case .accepted: break
                case .rejected(let rejection):
                    self.logger.notice("rejected", metadata: ["reason": "\(rejection.reason)"])
                // A real service keeps these, and sends them again.
                case let outcome: self.logger.warning("\(outcome)", metadata: ["error": "\(self.lastError)"])
                }
            } catch let error as PushValidationError {
                // One message that cannot be sent must not end the service, and with it the group.
                self.logger.error("\(error)")
            }
        }
    }

    private var lastError: String { self.provider.lastError?.message ?? "none" }
}
