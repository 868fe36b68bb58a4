/// The event that must happen before a notification is answered with 200. Until then Apple keeps the notification, and
/// repeats it.
@nonexhaustive
public enum AppStoreHandOver: Sendable {
    /// Your code has returned. If it throws, or takes longer than the receiver's limit (3 s unless set), the answer is
    /// 503 and Apple repeats the notification.
    ///
    /// A copy that arrives while the code runs waits for the same run. The receiver remembers the last 65,536
    /// notifications whose code returned, even after the limit, and answers their copies itself. After a restart it
    /// remembers no notifications. So the code must accept a notification twice without harm:
    /// ``AppStoreNotification/uuid`` is the key.
    case handler(@Sendable (AppStoreNotification) async throws -> Void)
    /// The notification is on disk. The store delivers it later, and recognizes its copies for 180 days and 157 hours.
    case store(AppStoreStore)
}
