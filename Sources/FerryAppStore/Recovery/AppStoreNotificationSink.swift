/// The receiver of recovered notifications, for example a store or a queue.
public protocol AppStoreNotificationSink: Sendable {
    /// Takes a notification. Return `stored` or `duplicate` only when a crash can no longer lose the notification, because
    /// the recovery does not offer it again.
    ///
    /// - Parameters:
    ///   - notification: the verified notification.
    ///   - signedPayload: the text that Apple signed.
    func take(_ notification: AppStoreNotification, signedPayload: String) async -> AppStoreSinkAnswer
}

/// The result of giving a notification to a sink.
@nonexhaustive
public enum AppStoreSinkAnswer: Hashable, Sendable {
    /// The sink did not have the notification before, and has stored it.
    case stored
    /// The sink had the notification before.
    case duplicate
    /// The sink never accepts the notification, for example because it is another app's. The recovery sets it aside and
    /// goes on.
    case refused(AppStoreVerificationError)
    /// The sink has not stored the notification. The recovery offers it again, and stops after repeated failures.
    case failed(String)
}
