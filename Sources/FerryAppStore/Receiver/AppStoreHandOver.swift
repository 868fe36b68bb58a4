/// What must happen before a notification is answered with 200. Until then Apple keeps it, and sends it again.
@nonexhaustive
public enum AppStoreHandOver: Sendable {
    /// Your code has returned. If it throws, or takes longer than the receiver's limit for an answer (3 s unless
    /// set), the answer is 503 and Apple comes again.
    ///
    /// A copy that comes while the code runs waits for the same run. The receiver remembers the last 65,536 notifications
    /// whose code returned, also after the limit, and answers their copies by itself; not after a new start. So the code must
    /// take a notification twice without harm: ``AppStoreNotification/uuid`` is the key.
    case handler(@Sendable (AppStoreNotification) async throws -> Void)
    /// The notification is on disk. The store delivers it later, and knows its copies for 180 days and 157 hours.
    case store(AppStoreStore)
}
