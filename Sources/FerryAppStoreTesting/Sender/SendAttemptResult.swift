/// How an attempt to send a notification ended, in Apple's words.
///
/// Source: the page "sendAttemptResult" of the App Store Server API.
public struct SendAttemptResult: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The word of the notification history, such as "TIMED_OUT".
    public let rawValue: String

    /// Makes a result of any word: a list that Apple may extend.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The same as ``rawValue``.
    public var description: String { self.rawValue }

    /// The server answered with a status from 200 to 206.
    public static let success = Self(rawValue: "SUCCESS")
    /// The server took too long.
    public static let timedOut = Self(rawValue: "TIMED_OUT")
    /// There was no TLS session, or the server's certificate is not valid.
    public static let tlsIssue = Self(rawValue: "TLS_ISSUE")
    /// The server redirects to itself.
    public static let circularRedirect = Self(rawValue: "CIRCULAR_REDIRECT")
    /// The server took the post and closed the connection without an answer.
    public static let noResponse = Self(rawValue: "NO_RESPONSE")
    /// The network failed, or nothing listens.
    public static let socketIssue = Self(rawValue: "SOCKET_ISSUE")
    /// The answer is in a character set that the App Store does not support.
    public static let unsupportedCharset = Self(rawValue: "UNSUPPORTED_CHARSET")
    /// The answer is not HTTP.
    public static let invalidResponse = Self(rawValue: "INVALID_RESPONSE")
    /// The connection was closed during the post or the answer.
    public static let prematureClose = Self(rawValue: "PREMATURE_CLOSE")
    /// The server answered with another status.
    public static let unsuccessfulStatus = Self(rawValue: "UNSUCCESSFUL_HTTP_RESPONSE_CODE")
    /// Something else went wrong.
    public static let other = Self(rawValue: "OTHER")
}

/// How a server answered a post, or why there is no answer.
public enum NotificationAnswer: Hashable, Sendable {
    /// The status of a complete answer.
    case status(Int)
    /// Everything else.
    case failure(SendAttemptResult)

    /// What the App Store makes of an answer.
    ///
    /// "Send HTTP 200, or any HTTP code between 200 and 206, if the post was successful. If your server received the
    /// notification but you want the App Store server to retry, send HTTP 50x or 40x […] All other HTTP response codes are
    /// unsuccessful." ("Responding to App Store Server Notifications", Apple)
    @nonexhaustive
    public enum Meaning: Sendable {
        /// The notification is delivered, and not sent again.
        case success
        /// The notification is sent again.
        case retry
        /// The attempt was unsuccessful, and no retry is promised: 3xx, 413, 422, 429.
        case unsuccessful
    }

    /// How the App Store treats the answer.
    public var meaning: Meaning {
        switch self {
        case .status(200...206): .success
        case .status(400...409), .status(500...509), .failure: .retry
        case .status: .unsuccessful
        }
    }

    /// The word of the notification history.
    public var result: SendAttemptResult {
        switch self {
        case .status(let status): 200...206 ~= status ? .success : .unsuccessfulStatus
        case .failure(let result): result
        }
    }

    /// The status; nil without an answer.
    public var status: Int? { if case .status(let status) = self { status } else { nil } }
}
