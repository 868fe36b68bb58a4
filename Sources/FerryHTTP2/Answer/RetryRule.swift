internal import FerryCore

/// The rule whether and when a refused notification may be sent again.
///
/// ``ReasonRule/all`` has the rule of each reason. A retry keeps the `apns-id`, and must happen before the
/// notification's deadline and expiration.
package enum RetryRule: Hashable, Sendable, CaseIterable {
    /// Not even after a repair: "Don't retry notification responses with the error code …" (Apple).
    case never
    /// Only after a person has repaired the fault, so for now the refusal is final: "Most notifications with the status
    /// code 4XX can be retried after you fix the error noted in the reason field" (Apple).
    case afterRepair
    /// After at least 15 minutes, with back-off and jitter: "After 15 minutes, you can retry JSON payloads that receive
    /// response status codes that begin with 5XX" (Apple).
    case later
    /// After a delay for this device, not for the connection: "You can retry with a delay, if you get the error code
    /// TooManyRequests" (Apple).
    case forDevice
    /// At once with a new provider token, if one may be made now.
    case withNewToken
    /// When provider tokens may be used again: 20 minutes after the last refusal of this kind.
    case whenThawed
    /// At once on a connection that starts with the token's key: "To use this token, open a new connection" (Apple).
    case onNewConnection
    /// At once on another connection: the request was not processed.
    case elsewhere

    /// Whether the refusal is the notification's outcome at once.
    package var isFinal: Bool { self == .never || self == .afterRepair }
}

extension PushAnswer {
    /// The rule for sending the notification again; nil when APNs took it.
    package var retryRule: RetryRule? {
        guard !self.isAccepted else { return nil }
        return self.reason.flatMap(ReasonRule.of)?.retry ?? self.status.retryRule
    }

    /// Whether the server failed, and says nothing about the notification.
    package var isServerError: Bool { 500...599 ~= self.status.rawValue && self.retryRule == .later }

    /// Whether APNs counts the answer against the connection. APNs slows down such a connection and then closes it.
    package var countsAgainstConnection: Bool {
        guard !self.isAccepted else { return false }
        return self.reason.flatMap(ReasonRule.of)?.countsAgainstConnection ?? (self.status == .forbidden)
    }
}

extension HTTPStatus {
    /// The rule for an unknown reason. If Apple's reasons with this status agree on a rule, it is that one; otherwise
    /// the rule of the status class. A status that is no failure and not 200 does not come from APNs: another server
    /// answers, and a person must repair that.
    fileprivate var retryRule: RetryRule {
        switch self {
        case .gone, .payloadTooLarge: .never
        case .tooManyRequests: .forDevice
        default: 500...599 ~= self.rawValue ? .later : .afterRepair
        }
    }
}
