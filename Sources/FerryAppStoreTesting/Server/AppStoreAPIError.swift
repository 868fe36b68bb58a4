/// An error of the App Store Server API: the number, whose first three digits are the status, and its sentence.
///
/// Source: the page "Error codes" of the App Store Server API.
struct AppStoreAPIError: Error, Hashable, Sendable {
    let code: Int
    let message: String

    var status: Int { self.code / 10_000 }

    init(_ code: Int, _ message: String) {
        self.code = code
        self.message = message
    }

    static let badRequest = Self(4_000_000, "Bad request.")
    static let invalidTransaction = Self(4_000_006, "Invalid transaction id.")
    static let startTooEarly = Self(4_000_012, "The start date is earlier than the allowed start date.")
    static let startAfterEnd = Self(4_000_013, "The start date is after the end date.")
    static let invalidPaginationToken = Self(4_000_014, "Invalid pagination token.")
    static let invalidStart = Self(4_000_015, "Invalid start date.")
    static let invalidEnd = Self(4_000_016, "Invalid end date.")
    static let expiredPaginationToken = Self(4_000_017, "The pagination token is expired.")
    static let invalidType = Self(4_000_018, "Invalid notification type or subtype.")
    static let severalFilters = Self(4_000_019, "Supply a transaction id or a notification type, not both.")
    static let invalidTestToken = Self(4_000_020, "Invalid test notification token.")
    static let notFound = Self(4_040_000, "There is nothing at this path.")
    static let noServerURL = Self(4_040_007, "No App Store Server Notification URL found for provided app.")
    static let noTestNotification = Self(4_040_008, "The test notification is not found, or was not sent yet.")
    static let noTransaction = Self(4_040_010, "Transaction id not found.")
    static let wrongMethod = Self(4_050_000, "There is something else at this path.")
    static let rateLimited = Self(4_290_000, "Rate limit exceeded.")
    static let internalFault = Self(5_000_000, "An unknown error occurred.")
    static let tryAgain = Self(5_000_001, "An unknown error occurred. Please try again.")
}
