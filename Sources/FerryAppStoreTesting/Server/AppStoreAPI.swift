internal import FerryAppStore
internal import FerryHTTP1
internal import FerryOpenSSL
internal import FerryPlatform
internal import FerryTesting

/// The App Store Server API without I/O: requests and records go in, answers come out.
struct AppStoreAPI: Sendable {
    /// "A maximum of 20 notifications for each page" ("Get Notification History", Apple); transactions likewise.
    static let pageSize = 20
    /// How long a pagination token may be used, in seconds. Apple's number is not documented.
    static let tokenLife: Double = 86_400
    /// How many pagination tokens are remembered. Older ones are invalid.
    static let tokenLimit = 4096

    /// A place in the history.
    struct Bookmark: Sendable {
        var filter: HistoryFilter
        var place: Int
        var made: Date
    }

    let app: AppStoreApp
    let environment: AppStoreEnvironment
    let tokens: AppStoreTokenVerifier
    var rates: AppStoreRates
    var maker: NotificationMaker
    /// Whether there is a sender: a URL to which notifications go.
    let hasServerURL: Bool
    private var bookmarks: [String: Bookmark] = [:]
    private var bookmarkOrder: [String] = []
    /// The UUIDs of test notifications, by their tokens.
    private var tests: [String: String] = [:]

    init(_ configuration: SimulatedAppStoreServer.Configuration) {
        self.app = configuration.maker.app
        self.environment = configuration.maker.environment
        self.maker = configuration.maker
        // Values of its own: the caller's copy of the maker makes those of this one.
        self.maker.values = NotificationValues(seed: self.maker.values.number())
        self.tokens = AppStoreTokenVerifier(
            key: configuration.credentials.tokenKey,
            keyID: configuration.credentials.keyID,
            issuerID: configuration.issuerID,
            bundleID: configuration.maker.app.bundleID
        )
        let limits: AppStoreRateLimits = self.environment == .production ? .production : .sandbox
        self.rates = AppStoreRates(configuration.rateLimits ?? limits)
        self.hasServerURL = configuration.sender != nil
    }

    /// Answers a request.
    ///
    /// - Parameters:
    ///   - records: the notifications so far.
    ///   - now: real time, for tokens and rates.
    ///   - appStoreNow: the time of the sender's clock, for everything else.
    /// - Returns: the answer, and a test notification to send.
    mutating func answer(
        _ request: AppStoreAPIRequest,
        records: [NotificationSender.Record],
        now: Date,
        appStoreNow: Date
    ) -> (HTTPServerAnswer, test: SimulatedNotification?) {
        // "401: unauthorized" has no body (Apple).
        guard self.tokens.isValid(request.authorization, now: Int64(now.timeIntervalSince1970)) else {
            return (HTTPServerAnswer(401), nil)
        }
        guard let call = request.call else { return (HTTPServerAnswer(.notFound), nil) }
        guard request.method == call.method else { return (HTTPServerAnswer(.wrongMethod), nil) }
        if let again = self.rates.refusal(of: call.rate, at: now) {
            return (HTTPServerAnswer(.rateLimited, again: again), nil)
        }
        do throws(AppStoreAPIError) {
            switch call {
            case .requestTest:
                let (test, answer) = try self.requestTest(at: appStoreNow)
                return (answer, test)
            case .testStatus(let token): return (try self.testStatus(token, records), nil)
            case .notificationHistory: return (try self.history(request, records, at: appStoreNow), nil)
            case .subscriptions(let transaction): return (try self.subscriptions(transaction, records), nil)
            case .transactionHistory(let transaction):
                return (try self.transactions(transaction, request.parameters["revision"], records), nil)
            }
        } catch {
            return (HTTPServerAnswer(error), nil)
        }
    }

    // MARK: Notifications

    private mutating func history(
        _ request: AppStoreAPIRequest,
        _ records: [NotificationSender.Record],
        at now: Date
    ) throws(AppStoreAPIError) -> HTTPServerAnswer {
        let filter = try HistoryFilter(request.body, environment: self.environment, now: now)
        var place = 0
        if let token = request.parameters["paginationToken"], !token.isEmpty {
            guard let bookmark = self.bookmarks[token], bookmark.filter == filter else { throw .invalidPaginationToken }
            guard now.timeIntervalSince(bookmark.made) <= Self.tokenLife else { throw .expiredPaginationToken }
            place = bookmark.place
        }
        var page: [SimulatedJSON] = []
        while place < records.count, page.count < Self.pageSize {
            if filter.matches(records[place]) { page.append(Self.item(records[place])) }
            place += 1
        }
        let hasMore = records.dropFirst(place).contains(where: filter.matches)
        let token = hasMore ? self.bookmark(Bookmark(filter: filter, place: place, made: now)) : nil
        return HTTPServerAnswer(
            200,
            [
                "notificationHistory": .list(page), "hasMore": .bool(hasMore),
                "paginationToken": token.map(SimulatedJSON.text),
            ]
        )
    }

    private mutating func bookmark(_ bookmark: Bookmark) -> String {
        let token = self.maker.values.uuid()
        self.bookmarks[token] = bookmark
        self.bookmarkOrder.append(token)
        if self.bookmarkOrder.count > Self.tokenLimit { self.bookmarks[self.bookmarkOrder.removeFirst()] = nil }
        return token
    }

    private static func item(_ record: NotificationSender.Record) -> SimulatedJSON {
        [
            "signedPayload": .text(record.notification.signedPayload ?? ""),
            "sendAttempts": .list(
                record.attempts.map { attempt in
                    [
                        "attemptDate": .integer(attempt.date.millisecondsSince1970),
                        "sendAttemptResult": .text(attempt.answer.result.rawValue),
                    ]
                }
            ),
        ]
    }

    private mutating func requestTest(
        at now: Date
    ) throws(AppStoreAPIError) -> (SimulatedNotification, HTTPServerAnswer) {
        guard self.hasServerURL else { throw .noServerURL }
        do {
            let test = try self.maker.make(.init(.test), at: now)
            let token = "\(self.maker.values.uuid())_\(now.millisecondsSince1970)"
            self.tests[token] = test.uuid
            return (test, HTTPServerAnswer(200, ["testNotificationToken": .text(token)]))
        } catch {
            throw AppStoreAPIError.tryAgain
        }
    }

    private func testStatus(
        _ token: String,
        _ records: [NotificationSender.Record]
    ) throws(AppStoreAPIError) -> HTTPServerAnswer {
        let parts = token.split(separator: "_")
        guard parts.count == 2, parts[0].utf8.count == 36, Int64(parts[1]) != nil else { throw .invalidTestToken }
        guard let uuid = self.tests[token], let record = records.last(where: { $0.notification.uuid == uuid }),
            !record.attempts.isEmpty
        else { throw .noTestNotification }
        return HTTPServerAnswer(200, Self.item(record))
    }
}
