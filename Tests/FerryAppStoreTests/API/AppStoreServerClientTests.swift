import FerryAppStoreTesting
import FerryCore
import FerryHTTP1
import FerryHTTP1TestSupport
import FerryOpenSSL
import Foundation
import NIOHTTP1
import Testing

@testable import FerryAppStore

@Suite(.timeLimit(.minutes(10))) struct AppStoreServerClientTests {
    private let signing: Signing
    private let key: ES256Key
    private let authority: ThrowAwayCA
    private let time = TestTime()

    init() throws {
        self.signing = try Signing()
        self.key = try .generate()
        self.authority = try ThrowAwayCA()
    }

    private func configuration(
        _ environment: AppStoreEnvironment = .production
    ) throws -> AppStoreServerClient.Configuration {
        AppStoreServerClient.Configuration(
            environment: environment,
            bundleID: Signing.bundleID,
            issuerID: "57246542-96fe",
            keyID: "ABC123DEFG",
            key: self.key,
            verifier: try self.signing.verifier()
        )
    }

    private func client(
        _ server: TestHTTPServer,
        _ change: (inout AppStoreServerClient.Configuration) -> Void = { _ in }
    ) throws -> AppStoreServerClient {
        var configuration = try self.configuration()
        configuration.baseURL = "\(try server.url())"
        configuration.trustRoots = self.authority.trustRoots
        change(&configuration)
        return try AppStoreServerClient(configuration, time: self.time.time)
    }

    private func failure(_ body: () async throws(AppStoreServerError) -> Void) async -> AppStoreServerError? {
        do throws(AppStoreServerError) {
            try await body()
            return nil
        } catch {
            return error
        }
    }

    @Test func `a test notification is requested with a signed token, and its result is read`() async throws {
        let payload = try self.signing.renewal(uuid: "T-1")
        let server = try await TestHTTPServer.start(self.authority) { request in
            switch (request.method, request.uri) {
            case (.POST, "/inApps/v1/notifications/test"): .json(#"{"testNotificationToken":"a/b_1"}"#)
            case (.GET, "/inApps/v1/notifications/test/a%2Fb_1"):
                .json(
                    #"""
                    {"signedPayload":"\#(payload)","sendAttempts":[\#
                    {"attemptDate":1790000000123,"sendAttemptResult":"TLS_ISSUE"}]}
                    """#
                )
            default: .json(404, "{}")
            }
        }
        let client = try self.client(server)
        let token = try await client.requestTestNotification()
        let status = try await client.testNotification(token)
        #expect(status.notification.uuid == "T-1")
        #expect(status.attempts.map(\.result) == [.tlsIssue])
        #expect(status.attempts.first?.date == Date(timeIntervalSince1970: 1_790_000_000.123))
        let bearer = try #require(server.requests.first?.header("Authorization"))
        #expect(server.requests.allSatisfy { $0.header("Authorization") == bearer })
        let parts = try #require(bearer.split(separator: " ").last).split(separator: ".")
        let signature = try #require(Base64URL.decode(parts[2].utf8))
        #expect(self.key.isValidSignature(signature, for: Array("\(parts[0]).\(parts[1])".utf8)))
        await server.stop()
    }

    @Test func `a page of the history has each notification, verified or refused with its reason`() async throws {
        let good = try self.signing.renewal(uuid: "H-1")
        let foreign = try Signing().renewal(uuid: "H-2")
        let server = try await TestHTTPServer.start(self.authority) { request in
            request.uri == "/inApps/v1/notifications/history"
                ? .json(
                    #"""
                    {"notificationHistory":[{"signedPayload":"\#(good)","sendAttempts":[]},{"signedPayload":"\#(foreign)"},{}],\#
                    "hasMore":true,"paginationToken":"p 2"}
                    """#
                ) : .json(#"{"notificationHistory":[],"hasMore":false,"paginationToken":"p3"}"#)
        }
        let client = try self.client(server)
        var query = AppStoreHistoryQuery(
            from: Date(timeIntervalSince1970: 1_780_000_000),
            to: Date(timeIntervalSince1970: 1_790_000_000)
        )
        query.onlyFailures = true
        query.filter = .type(.didRenew, subtype: "BILLING_RECOVERY")
        let page = try await client.notificationHistory(query)
        #expect(try page.items[0].notification.get().uuid == "H-1")
        #expect(throws: AppStoreVerificationError.self) { try page.items[1].notification.get() }
        #expect(throws: AppStoreVerificationError.self) { try page.items[2].notification.get() }
        #expect(page.nextPage == "p 2")
        #expect(try await client.notificationHistory(query, page: page.nextPage).nextPage == nil)
        #expect(server.requests.map(\.uri).last == "/inApps/v1/notifications/history?paginationToken=p%202")
        let bodies = server.requests.map { String(decoding: $0.body, as: UTF8.self) }
        #expect(
            Set(bodies) == [
                #"""
                {"startDate":1780000000000,"endDate":1790000000000,"notificationType":"DID_RENEW",\#
                "notificationSubtype":"BILLING_RECOVERY","onlyFailures":true}
                """#
            ]
        )
        await server.stop()
    }

    @Test func `statuses and transactions are verified objects`() async throws {
        let transaction = try self.signing.signer.sign(
            Array(
                #"{"bundleId":"com.example.app","environment":"Production","price":9990,"signedDate":1790000000000}"#
                    .utf8
            )
        )
        let renewal = try self.signing.signer.sign(
            Array(#"{"environment":"Production","autoRenewStatus":1,"signedDate":1790000000000}"#.utf8)
        )
        let other = try self.signing.signer.sign(
            Array(#"{"bundleId":"com.example.other","environment":"Production","signedDate":1790000000000}"#.utf8)
        )
        let server = try await TestHTTPServer.start(self.authority) { request in
            switch request.uri {
            case "/inApps/v1/subscriptions/20001":
                .json(
                    #"""
                    {"data":[{"subscriptionGroupIdentifier":"G","lastTransactions":[{"status":4,"originalTransactionId":"20001",\#
                    "signedTransactionInfo":"\#(transaction)","signedRenewalInfo":"\#(renewal)"}]}]}
                    """#
                )
            case "/inApps/v2/history/20001?sort=DESCENDING":
                .json(#"{"signedTransactions":["\#(transaction)"],"hasMore":true,"revision":"r1"}"#)
            case "/inApps/v2/history/20001?revision=r1":
                .json(#"{"signedTransactions":["\#(other)"],"hasMore":false,"revision":"r2"}"#)
            default: .json(404, "{}")
            }
        }
        let client = try self.client(server)
        struct Price: Decodable { var price: Int }
        let status = try #require(try await client.subscriptionStatuses("20001").subscriptions.first)
        #expect(status.group == "G")
        #expect(status.status == .gracePeriod)
        #expect(try status.transaction.decoded(as: Price.self).price == 9990)
        let renewed = String(decoding: try #require(status.renewal).json, as: UTF8.self)
        #expect(renewed.contains("autoRenewStatus"))
        let page = try await client.transactionHistory("20001", newestFirst: true)
        #expect(page.transactions.count == 1)
        #expect(page.nextPage == "r1")
        let error = await self.failure { () async throws(AppStoreServerError) in
            _ = try await client.transactionHistory("20001", page: "r1")
        }
        #expect(error?.code == .notVerified)
        #expect((error?.cause as? AppStoreVerificationError)?.code == .otherApp)
        await server.stop()
    }

    @Test func `Apple's error numbers become codes with advice, and unknown ones are kept`() async throws {
        let server = try await TestHTTPServer.start(self.authority) { request in
            switch request.uri.last {
            case "1": .json(404, #"{"errorCode":4040007,"errorMessage":"No URL"}"#)
            case "2": .json(400, #"{"errorCode":4009999,"errorMessage":"Something\u001b[1m new"}"#)
            case "3": .answer(401)
            case "4": .json(200, "<html>")
            case "5": .answer(302, headers: ["Location": "/elsewhere"])
            default: .json(404, "{}")
            }
        }
        let client = try self.client(server)
        func error(_ number: Int) async -> AppStoreServerError? {
            await self.failure { () async throws(AppStoreServerError) in
                _ = try await client.subscriptionStatuses("\(number)")
            }
        }
        let first = await error(1)
        #expect(first?.code == .noNotificationURL)
        #expect(first?.status == 404)
        #expect(first?.description.contains("App Store Connect") ?? false)
        let second = await error(2)
        #expect(second?.code.number == 4_009_999)
        #expect(second?.description.hasSuffix(#"4009999: Something\u{1B}[1m new"#) ?? false)
        let third = await error(3)
        #expect(third?.code == .unauthorized)
        for word in ["key id", "issuer id", "bundle id", "clock", "first release"] {
            #expect(third?.description.contains(word) ?? false)
        }
        #expect(await error(4)?.code == .unexpectedAnswer)
        #expect(await error(5)?.code == .unexpectedAnswer)
        #expect(server.requests.count == 5)
        #expect(self.time.waits.isEmpty)
        await server.stop()
    }

    @Test func `each code of the documentation has advice`() {
        let numbers: [Int64] = [
            4_000_006, 4_000_012, 4_000_013, 4_000_014, 4_000_015, 4_000_016, 4_000_017, 4_000_018, 4_000_019,
            4_000_020,
            4_040_007, 4_040_008, 4_290_000, 5_000_000, 5_000_001,
        ]
        for number in numbers { #expect(AppStoreServerError.Code(number: number).advice != nil) }
        #expect(AppStoreServerError.Code(number: 1).advice == nil)
        #expect("\(AppStoreServerError.Code(number: 4_040_007))" == "4040007")
    }

    @Test
    func `after too many requests the client waits until the time that Apple named in milliseconds`() async throws {
        let until = self.time.now + 40
        let seen = Seen()
        let server = try await TestHTTPServer.start(self.authority) { request in
            guard seen.isFirst(0) else { return .json(#"{"data":[]}"#) }
            let milliseconds = Int64(until.timeIntervalSince1970 * 1000)
            return .json(429, headers: ["Retry-After": "\(milliseconds)"], #"{"errorCode":4290000}"#)
        }
        let client = try self.client(server)
        _ = try await client.subscriptionStatuses("1")
        #expect(self.time.now >= until - 1)
        #expect(self.time.now < until + 5)
        #expect(server.requests.count == 2)
        await server.stop()
    }

    @Test func `a wait beyond the call's limit is an error that names the time`() async throws {
        let until = self.time.now + 3600
        let server = try await TestHTTPServer.start(self.authority) { _ in
            let milliseconds = Int64(until.timeIntervalSince1970 * 1000)
            return .json(429, headers: ["Retry-After": "\(milliseconds)"], #"{"errorCode":4290000}"#)
        }
        let client = try self.client(server)
        for _ in 0..<2 {
            let error = await self.failure { () async throws(AppStoreServerError) in
                _ = try await client.subscriptionStatuses("1")
            }
            #expect(error?.code == .rateLimitExceeded)
            #expect(abs((error?.retryAfter ?? .distantPast).timeIntervalSince(until)) < 2)
        }
        // The second was not sent.
        #expect(server.requests.count == 1)
        #expect(self.time.waits.isEmpty)
        await server.stop()
    }

    @Test func `errors of Apple are tried again with growing waits, up to the last attempt`() async throws {
        let server = try await TestHTTPServer.start(self.authority) { request in
            request.uri.hasSuffix("/1") ? .json(500, #"{"errorCode":5000001}"#) : .answer(503)
        }
        let client = try self.client(server) { $0.attempts = 3 }
        for (number, code) in [(1, AppStoreServerError.Code.generalInternalRetryable), (2, .generalInternal)] {
            let error = await self.failure { () async throws(AppStoreServerError) in
                _ = try await client.subscriptionStatuses("\(number)")
            }
            #expect(error?.code == code)
            #expect(server.requests.count == 3 * number)
        }
        #expect(self.time.waits.count == 4)
        await server.stop()
    }

    @Test func `a lost connection is tried again for a question, but not for a test notification`() async throws {
        let server = try await TestHTTPServer.start(self.authority) { _ in .close }
        let client = try self.client(server) { $0.attempts = 3 }
        let question = await self.failure { () async throws(AppStoreServerError) in
            _ = try await client.subscriptionStatuses("1")
        }
        #expect(question?.code == .connectionFailed)
        #expect(server.requests.count == 3)
        let order = await self.failure { () async throws(AppStoreServerError) in
            _ = try await client.requestTestNotification()
        }
        #expect(order?.code == .connectionFailed)
        #expect(server.requests.count == 4)
        await server.stop()
    }

    @Test func `requests wait for the limit and do not run into 429`() async throws {
        let server = try await TestHTTPServer.start(self.authority) { _ in .json(#"{"testNotificationToken":"t"}"#) }
        let client = try self.client(server)
        for _ in 0..<RequestRate.burst + 3 { _ = try await client.requestTestNotification() }
        #expect(self.time.waits == [.seconds(1), .seconds(1), .seconds(1)])
        await server.stop()
    }

    @Test func `settings that cannot work are refused with a sentence`() throws {
        var empty = try self.configuration()
        empty.keyID = ""
        var user = try self.configuration()
        user.baseURL = "https://user:secret@host"
        let xcode = try self.configuration(AppStoreEnvironment(rawValue: "Xcode"))
        for configuration in [empty, user, xcode] {
            do throws(AppStoreServerError) {
                _ = try AppStoreServerClient(configuration)
                Issue.record("it was taken")
            } catch {
                #expect(error.code == .invalidConfiguration)
                #expect(!error.description.contains("secret"))
            }
        }
        #expect(try self.configuration().url().host == "api.storekit.apple.com")
        #expect(try self.configuration(.sandbox).url().host == "api.storekit-sandbox.apple.com")
    }
}
