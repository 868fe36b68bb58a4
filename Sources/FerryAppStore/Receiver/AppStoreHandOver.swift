/// The event that must happen before a notification is answered with 200. Until this answer, Apple keeps the
/// notification, and repeats it in production.
@nonexhaustive
public enum AppStoreHandOver: Sendable {
    /// Your code has returned. If the code throws, or takes longer than the receiver's limit (3 s unless set), the
    /// answer is 503, and Apple repeats the notification in production.
    ///
    /// A copy that arrives while the code runs waits for the same run. The receiver remembers the last 65,536
    /// notifications for which the code returned without an error, even after the limit. The receiver answers copies
    /// of these notifications itself. After a restart, the receiver remembers no notifications. So the code must
    /// accept a notification twice without harm: ``AppStoreNotification/uuid`` is the key.
    case handler(@Sendable (AppStoreNotification) async throws -> Void)
    /// The notification is committed in the store, by default to the disk. The store delivers the notification later,
    /// and recognizes copies of it for at least 180 days and 157 hours.
    case store(AppStoreStore)
}
