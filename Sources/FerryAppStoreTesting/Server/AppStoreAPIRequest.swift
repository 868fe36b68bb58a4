internal import FerryPlatform

/// A request to the App Store Server API.
struct AppStoreAPIRequest: Sendable {
    enum Method: Hashable, Sendable {
        case get
        case post
        case other
    }

    /// A call of the API, by its path.
    enum Call: Hashable, Sendable {
        case notificationHistory
        case requestTest
        case testStatus(token: String)
        case subscriptions(transaction: String)
        case transactionHistory(transaction: String)

        var method: Method {
            switch self {
            case .notificationHistory, .requestTest: .post
            case .testStatus, .subscriptions, .transactionHistory: .get
            }
        }

        var rate: AppStoreRates.Call {
            switch self {
            case .notificationHistory: .history
            case .requestTest, .testStatus: .test
            case .subscriptions, .transactionHistory: .purchases
            }
        }
    }

    var method: Method
    /// Nil for another path.
    var call: Call?
    /// The parameters of the query.
    var parameters: [String: String] = [:]
    var authorization: String?
    var body: [UInt8] = []

    /// - Parameter uri: the path with its query.
    init(method: Method, uri: String, authorization: String?) {
        self.method = method
        self.authorization = authorization
        guard let parts = URLComponents(string: uri) else { return }
        for item in parts.queryItems ?? [] { self.parameters[item.name] = item.value ?? "" }
        self.call = Self.call(parts.path.split(separator: "/", omittingEmptySubsequences: false).map(String.init))
    }

    private static func call(_ path: [String]) -> Call? {
        guard path.count >= 4, path[0].isEmpty, path[1] == "inApps" else { return nil }
        switch Array(path[2...]) {
        case ["v1", "notifications", "history"]: return .notificationHistory
        case ["v1", "notifications", "test"]: return .requestTest
        case ["v1", "notifications", "test", path[path.count - 1]]: return .testStatus(token: path[path.count - 1])
        case ["v1", "subscriptions", path[path.count - 1]]: return .subscriptions(transaction: path[path.count - 1])
        case ["v2", "history", path[path.count - 1]]: return .transactionHistory(transaction: path[path.count - 1])
        default: return nil
        }
    }
}

/// An answer of the App Store Server API.
struct AppStoreAnswer: Sendable {
    var status: Int
    /// Nil: the answer has no body.
    var body: [UInt8]?
    /// When to come again, in milliseconds since 1970: that is how Apple writes `Retry-After`.
    var retryAfter: Int64?

    init(_ status: Int, _ body: SimulatedJSON? = nil) {
        self.status = status
        self.body = body?.bytes
    }

    init(_ error: AppStoreAPIError) {
        self.init(error.status, ["errorCode": .integer(Int64(error.code)), "errorMessage": .text(error.message)])
    }
}
