/// What takes recovered notifications: a store, a queue.
public protocol AppStoreNotificationSink: Sendable {
    /// Takes a notification. Returns when it is safe, or known to be there already.
    ///
    /// - Parameters:
    ///   - notification: the notification, verified.
    ///   - signedPayload: what Apple signed.
    func take(_ notification: AppStoreNotification, signedPayload: String) async -> AppStoreSinkAnswer
}

/// What a sink did with a notification.
@nonexhaustive
public enum AppStoreSinkAnswer: Hashable, Sendable {
    /// It is safe now, and was not there before.
    case stored
    /// It was there before.
    case duplicate
    /// The sink does not serve it, now or later: another app's, for example. The recovery sets it aside and goes on.
    case refused(AppStoreVerificationError)
    /// It is not safe. The recovery offers it again, and stops if that does not help.
    case failed(String)
}
