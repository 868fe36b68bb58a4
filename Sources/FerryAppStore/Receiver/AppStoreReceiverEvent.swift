/// What a receiver did with a request. Holds no part of a notification but its key and type.
@nonexhaustive
public enum AppStoreReceiverEvent: Sendable {
    /// The notification was handed over, and answered with 200.
    case taken(uuid: String, AppStoreNotificationType)
    /// The notification was handed over before, and answered with 200.
    case duplicate(uuid: String)
    /// The post is no notification for this receiver.
    case refused(AppStoreVerificationError, status: Int)
    /// The request has another path (404) or method (405) than a post of the App Store.
    case misdirected(status: Int)
    /// The notification was not handed over, and Apple was asked to come again. The text says why.
    case postponed(uuid: String, reason: String)
}
