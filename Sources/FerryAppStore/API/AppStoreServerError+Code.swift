extension AppStoreServerError {
    /// The kind of error: a number from Apple, or a name from Ferry. Unknown numbers are kept.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Kind: Hashable {
            case apple(Int64)
            case ferry(String)
        }

        private let kind: Kind

        private init(_ name: String) { self.kind = .ferry(name) }

        /// Makes the kind with Apple's number, such as 4040007.
        public init(number: Int64) { self.kind = .apple(number) }

        /// Apple's number (`errorCode`); nil for one of Ferry's kinds. Ferry uses the numbers 4290000 and 5000000
        /// also for an error without a number of Apple.
        public var number: Int64? { if case .apple(let number) = self.kind { number } else { nil } }

        /// Apple's number in digits, such as `4040007`, or Ferry's name, such as `timedOut`.
        public var description: String {
            switch self.kind {
            case .apple(let number): "\(number)"
            case .ferry(let name): name
            }
        }

        // MARK: Apple's. Source: the error codes of the App Store Server API, and Apple's app-store-server-library 6.0.0.

        /// The transaction identifier has a wrong form.
        public static let invalidTransactionID = Code(number: 4_000_006)
        /// The start of the history is earlier than Apple keeps notifications.
        public static let startDateTooFarInPast = Code(number: 4_000_012)
        /// The start of the history is after its end.
        public static let startDateAfterEndDate = Code(number: 4_000_013)
        /// The page token has a wrong form.
        public static let invalidPaginationToken = Code(number: 4_000_014)
        /// The start of the history cannot be read.
        public static let invalidStartDate = Code(number: 4_000_015)
        /// The end of the history cannot be read.
        public static let invalidEndDate = Code(number: 4_000_016)
        /// The page token has expired.
        public static let paginationTokenExpired = Code(number: 4_000_017)
        /// The type or the subtype of notifications does not exist.
        public static let invalidNotificationType = Code(number: 4_000_018)
        /// The request has both a transaction and a type.
        public static let multipleFilters = Code(number: 4_000_019)
        /// The token of the test notification has a wrong form.
        public static let invalidTestToken = Code(number: 4_000_020)
        /// App Store Connect has no URL for notifications of this environment.
        public static let noNotificationURL = Code(number: 4_040_007)
        /// The test notification does not exist, or Apple has not sent it yet.
        public static let testNotificationNotFound = Code(number: 4_040_008)
        /// Apple refused the request because there were too many requests. Or the client did not send the request,
        /// because the wait would have exceeded ``AppStoreServerClient/Configuration/callLimit``.
        public static let rateLimitExceeded = Code(number: 4_290_000)
        /// An error at Apple, or a status of 500 or more without a number.
        public static let generalInternal = Code(number: 5_000_000)
        /// An error at Apple that may pass.
        public static let generalInternalRetryable = Code(number: 5_000_001)

        // MARK: Ferry's kinds

        /// The client's settings cannot work.
        public static let invalidConfiguration = Code("invalidConfiguration")
        /// Apple refused the token with status 401, without a number.
        public static let unauthorized = Code("unauthorized")
        /// No connection was made, the server's certificate was refused, or the connection ended before the answer
        /// was complete.
        public static let connectionFailed = Code("connectionFailed")
        /// An attempt took longer than ``AppStoreServerClient/Configuration/attemptLimit``.
        public static let timedOut = Code("timedOut")
        /// The answer has an unknown form or is too long. Or the answer has no number of Apple, and its status is
        /// below 500 and neither 401 nor 429.
        public static let unexpectedAnswer = Code("unexpectedAnswer")
        /// A signed text in the answer was refused. The cause is an ``AppStoreVerificationError``.
        public static let notVerified = Code("notVerified")
        /// The task was cancelled.
        public static let cancelled = Code("cancelled")
    }
}

extension AppStoreServerError.Code {
    /// Sentences that say what to do about the error; nil if that is unknown.
    var advice: String? {
        switch self {
        case .invalidTransactionID:
            "The transaction's identifier is not one of this app. Give a transactionId or originalTransactionId."
        case .startDateTooFarInPast:
            "The start lies before what Apple keeps: 180 days in production, 30 in the sandbox. Choose a later start."
        case .startDateAfterEndDate: "The start lies after the end. Exchange them."
        case .invalidPaginationToken: "The token of the page is not one. Begin again without a token."
        case .invalidStartDate: "The start cannot be read. Give milliseconds since 1970."
        case .invalidEndDate: "The end cannot be read. Give milliseconds since 1970."
        case .paginationTokenExpired: "The token of the page has expired. Begin again without a token."
        case .invalidNotificationType:
            "Apple knows no such notificationType or subtype, or not together. Check their spelling."
        case .multipleFilters: "The history takes a transaction or a type, not both. Leave one out."
        case .invalidTestToken: "The token of the test notification is not one. Request a new test notification."
        case .noNotificationURL:
            "App Store Connect has no URL for this environment. Enter one under App Information, App Store Server "
                + "Notifications, for the sandbox or production, and choose version 2."
        case .testNotificationNotFound:
            "There is no such test notification, or Apple has not sent it yet. Ask again in a few seconds; a token is good "
                + "for some time only."
        case .rateLimitExceeded:
            "There were too many requests. Wait until the time that Apple named, and ask less often."
        case .generalInternal: "Apple has an error of its own. Try again later."
        case .generalInternalRetryable: "Apple has an error of its own that may pass. Try again."
        case .unauthorized:
            "Apple does not take the token, and says no more. Check that key, key id and issuer id belong together and "
                + "are those of the App Store Server API (Users and Access, Integrations, In-App Purchase), that the bundle "
                + "id is the app's, and that this machine's clock is right. In production it also happens before the "
                + "app's first release."
        default: nil
        }
    }
}
