/// The result of a request. It contains no part of a notification except its key and type.
@nonexhaustive
public enum AppStoreReceiverEvent: Sendable {
    /// The notification was handed over, and answered with 200.
    case taken(uuid: String, AppStoreNotificationType)
    /// Another copy of the notification was handed over. The answer was 200.
    case duplicate(uuid: String)
    /// The verifier refused the post. `status` is the status of the answer.
    case refused(AppStoreVerificationError, status: Int)
    /// The path (404) or the method (405) is not that of a post of the App Store.
    case misdirected(status: Int)
    /// The notification was not handed over, or not in time. The answer was 503, so Apple repeats the notification in
    /// production. The text gives the reason.
    case postponed(uuid: String, reason: String)
}
