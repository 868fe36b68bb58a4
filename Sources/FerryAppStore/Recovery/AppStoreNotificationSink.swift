/// The receiver of recovered notifications, for example a store or a queue.
public protocol AppStoreNotificationSink: Sendable {
    /// Takes a notification. Return `stored` or `duplicate` only when a crash can no longer lose the notification. If
    /// the sink loses it after such an answer, the recovery does not fetch it again. A stored notification may still
    /// come again, for example after a restart of the window. Then return `duplicate`.
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
    /// The sink never accepts the notification, for example because it belongs to another app. The recovery sets the
    /// notification aside and goes on.
    case refused(AppStoreVerificationError)
    /// The sink has not stored the notification. The text gives the reason. The recovery offers the notification up to
    /// 4 times, and then stops.
    case failed(String)
}
