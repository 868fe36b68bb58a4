internal import FerryCore

/// The meaning of an outcome for the connection that all clients share.
///
/// APNs closes connections on which it refuses many tokens, and the provider stops for a while when APNs answers with
/// nothing but server errors. So both are counted for each client and topic.
enum Verdict: Hashable, Sendable {
    /// APNs took the notification, or knows since when the app is gone.
    case taken
    /// APNs refused the token, and may close the connection for it.
    case countable
    /// APNs failed: a server error (5xx).
    case failed
    /// The answer says nothing of the token, or there was no answer.
    case other

    init(of outcome: Outcome) {
        switch outcome {
        case .accepted: self = .taken
        case .rejected(let rejection) where rejection.origin == .apns:
            self = (rejection.status ?? 0) >= 500 ? .failed : Self.verdicts[rejection.reason] ?? .other
        default: self = .other
        }
    }

    private static let verdicts: [Reason: Verdict] = [
        .unregistered: .taken,
        .expiredToken: .taken,
        .badDeviceToken: .countable,
        .deviceTokenNotForTopic: .countable,
    ]
}
