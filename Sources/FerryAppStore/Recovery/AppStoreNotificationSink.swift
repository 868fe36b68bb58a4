/// The receiver of recovered notifications, for example a store or a queue.
public protocol AppStoreNotificationSink: Sendable {
    /// Takes a notification. Returns `stored` or `duplicate` only when the notification is safe.
    ///
    /// - Parameters:
    ///   - notification: the verified notification.
    ///   - signedPayload: the text that Apple signed.
    func take(_ notification: AppStoreNotification, signedPayload: String) async -> AppStoreSinkAnswer
}

/// The result of giving a notification to a sink.
@nonexhaustive
public enum AppStoreSinkAnswer: Hashable, Sendable {
    /// The sink did not have the notification before. It is safe now.
    case stored
    /// The sink had the notification before.
    case duplicate
    /// The sink never accepts the notification, for example because it is another app's. The recovery sets it aside and
    /// goes on.
    case refused(AppStoreVerificationError)
    /// The notification is not safe. The recovery offers it again, and stops after repeated failures.
    case failed(String)
}
