/// The result of a request. It contains no part of a notification except its key and type.
@nonexhaustive
public enum AppStoreReceiverEvent: Sendable {
    /// The notification was handed over, and answered with 200.
    case taken(uuid: String, AppStoreNotificationType)
    /// The notification had been handed over before. The answer was 200.
    case duplicate(uuid: String)
    /// The post is not a notification for this receiver.
    case refused(AppStoreVerificationError, status: Int)
    /// The path (404) or the method (405) is not that of a post of the App Store.
    case misdirected(status: Int)
    /// The notification was not handed over, and Apple will repeat it. The text gives the reason.
    case postponed(uuid: String, reason: String)
}
