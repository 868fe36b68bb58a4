/// The rule whether and when a notification that APNs refused over HTTP/2 may be sent again.
///
/// ``Reason/table`` has the rule of each reason. A retry keeps the `apns-id`, and must happen before the
/// notification's deadline and expiration.
package enum RetryRule: Hashable, Sendable, CaseIterable {
    /// Never send it again: "Don't retry notification responses with the error code …" (Apple).
    case never
    /// Send it again only after a person has repaired the fault, so the refusal is final: "Most notifications with the
    /// status code 4XX can be retried after you fix the error noted in the reason field" (Apple).
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
    /// Send it again at once on another connection, because the request was not processed.
    case elsewhere

    /// Whether the refusal is the notification's outcome at once.
    package var isFinal: Bool { self == .never || self == .afterRepair }
}
