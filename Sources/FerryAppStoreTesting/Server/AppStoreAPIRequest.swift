internal import FerryHTTP1
internal import FerryPlatform
internal import NIOHTTP1

/// A request to the App Store Server API.
struct AppStoreAPIRequest: Sendable {
    /// A call of the API, by its path.
    enum Call: Hashable, Sendable {
        case notificationHistory
        case requestTest
        case testStatus(token: String)
        case subscriptions(transaction: String)
        case transactionHistory(transaction: String)

        var method: String {
            switch self {
            case .notificationHistory, .requestTest: "POST"
            case .testStatus, .subscriptions, .transactionHistory: "GET"
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

    let method: String
    /// Nil for another path.
    private(set) var call: Call?
    /// The parameters of the query.
    private(set) var parameters: [String: String] = [:]
    let authorization: String?
    let body: [UInt8]

    init(_ request: HTTPServerRequest) {
        self.method = request.method
        self.authorization = request.headers.first(name: "Authorization")
        self.body = request.body
        guard let parts = URLComponents(string: request.target) else { return }
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

extension HTTPServerAnswer {
    /// An answer of the App Store Server API. Without `json` it has no body.
    init(_ status: Int, _ json: SimulatedJSON? = nil) {
        self.init(
            status: status,
            headers: json == nil ? [:] : ["Content-Type": "application/json"],
            body: json?.bytes ?? []
        )
    }

    /// - Parameter again: when to come again.
    init(_ error: AppStoreAPIError, again: Date? = nil) {
        self.init(error.status, ["errorCode": .integer(Int64(error.code)), "errorMessage": .text(error.message)])
        // "The UNIX time, in milliseconds" ("Identifying rate limits", Apple).
        if let again { self.headers.add(name: "Retry-After", value: "\(again.millisecondsSince1970)") }
    }
}
