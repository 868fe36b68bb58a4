internal import FerryCore
public import FerryPlatform

/// One attempt of the App Store to send a notification, from the history or the status of a test notification.
public struct AppStoreSendAttempt: Hashable, Sendable {
    /// The time of the attempt, by Apple's clock (`attemptDate`).
    public var date: Date
    /// The result that Apple saw (`sendAttemptResult`).
    public var result: Result

    /// Makes an attempt.
    public init(date: Date, result: Result) {
        self.date = date
        self.result = result
    }

    /// The result of an attempt, by Apple's name. An unknown name is kept as it is.
    ///
    /// Source: the page "sendAttemptResult" of the App Store Server API.
    public struct Result: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// Apple's name of the result, such as `TIMED_OUT`.
        public let rawValue: String

        /// Makes a result from any name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// Apple's name: ``rawValue``.
        public var description: String { self.rawValue }

        /// The server answered with a status from 200 to 206.
        public static let success = Result(rawValue: "SUCCESS")
        /// The answer took too long. Apple does not document its limit.
        public static let timedOut = Result(rawValue: "TIMED_OUT")
        /// No TLS session was established, or the server's certificate was refused.
        public static let tlsIssue = Result(rawValue: "TLS_ISSUE")
        /// The server's redirections led back to an earlier URL.
        public static let circularRedirect = Result(rawValue: "CIRCULAR_REDIRECT")
        /// No valid HTTP answer came.
        public static let noResponse = Result(rawValue: "NO_RESPONSE")
        /// The network failed.
        public static let socketIssue = Result(rawValue: "SOCKET_ISSUE")
        /// The answer had a character set that the App Store does not support.
        public static let unsupportedCharset = Result(rawValue: "UNSUPPORTED_CHARSET")
        /// The answer was invalid.
        public static let invalidResponse = Result(rawValue: "INVALID_RESPONSE")
        /// The connection was closed while the notification was sent.
        public static let prematureClose = Result(rawValue: "PREMATURE_CLOSE")
        /// The server answered with a status outside 200 to 206.
        public static let unsuccessfulStatus = Result(rawValue: "UNSUCCESSFUL_HTTP_RESPONSE_CODE")
        /// Another reason, or Apple's answer has no result.
        public static let other = Result(rawValue: "OTHER")
    }
}

extension AppStoreSendAttempt {
    /// Reads `sendAttempts`. An attempt without a date is left out.
    static func list(_ object: JSONObject) -> [AppStoreSendAttempt] {
        (object.objects("sendAttempts") ?? []).compactMap { attempt in
            guard let date = attempt.integer("attemptDate") else { return nil }
            let result = attempt.string("sendAttemptResult") ?? Result.other.rawValue
            return AppStoreSendAttempt(date: Date(milliseconds: date), result: Result(rawValue: result))
        }
    }
}
