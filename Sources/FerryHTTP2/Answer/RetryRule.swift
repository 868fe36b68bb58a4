internal import FerryCore

/// Whether and when a notification that was refused may be sent again.
///
/// Which rule holds for a reason stands in ``ReasonRule/all``. Whoever retries keeps the `apns-id`, and gives up at the
/// notification's deadline or expiration.
package enum RetryRule: Hashable, Sendable, CaseIterable {
    /// Not even after a repair: "Don't retry notification responses with the error code …" (Apple).
    case never
    /// Only once a person has repaired what the reason names, so for now it is final: "Most notifications with the status
    /// code 4XX can be retried after you fix the error noted in the reason field" (Apple).
    case afterRepair
    /// After 15 minutes at the earliest, with back-off and jitter: "After 15 minutes, you can retry JSON payloads that
    /// receive response status codes that begin with 5XX" (Apple).
    case later
    /// After a delay, which is the device's and not the connection's: "You can retry with a delay, if you get the error
    /// code TooManyRequests" (Apple).
    case forDevice
    /// At once with a new provider token, if one may be made by now.
    case withNewToken
    /// When provider tokens may be used again: 20 minutes after the last refusal of this kind.
    case whenThawed
    /// At once on a connection that begins with the token's key: "To use this token, open a new connection" (Apple).
    case onNewConnection
    /// At once on another connection: the request was not processed.
    case elsewhere

    /// Whether the refusal is the notification's outcome at once.
    package var isFinal: Bool { self == .never || self == .afterRepair }
}

extension Answer {
    /// Whether and when the notification may be sent again; nil when APNs took it.
    package var retryRule: RetryRule? {
        guard !self.isAccepted else { return nil }
        return self.reason.flatMap(ReasonRule.of)?.retry ?? self.status.retryRule
    }

    /// Whether APNs counts the answer against the connection, which it slows down and then closes.
    package var countsAgainstConnection: Bool {
        guard !self.isAccepted else { return false }
        return self.reason.flatMap(ReasonRule.of)?.countsAgainstConnection ?? (self.status == .forbidden)
    }
}

extension HTTPStatus {
    /// The rule where no reason is known: that of Apple's reasons with this status, where they agree, else that of its
    /// class. A status that is no failure, and was not 200, is none of APNs: somebody else answers there, which a person
    /// must repair.
    fileprivate var retryRule: RetryRule {
        switch self {
        case .gone, .payloadTooLarge: .never
        case .tooManyRequests: .forDevice
        default: 500...599 ~= self.rawValue ? .later : .afterRepair
        }
    }
}
