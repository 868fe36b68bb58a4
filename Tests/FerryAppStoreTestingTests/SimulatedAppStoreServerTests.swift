import FerryAppStore
import FerryAppStoreTesting
import FerryOpenSSL
import FerryTesting
import Foundation
import NIOHTTP1
import Testing

@Suite(.timeLimit(.minutes(5))) struct SimulatedAppStoreServerTests {
    /// A server with its sender, its receiver and a client.
    private struct Fixture: Sendable {
        var maker: NotificationMaker
        var receiver: AppReceiver
        var sender: AppStoreSender
        var server: SimulatedAppStoreServer
        var client: APIClient

        /// The time of the start, in milliseconds. All pages of the history need the same dates.
        let now = Int64(Date().timeIntervalSince1970 * 1000)

        func history(
            _ filter: [String: Any] = [:],
            token: String? = nil
        ) async throws -> APIClient.Answer {
            var body: [String: Any] = ["startDate": self.now - 86_400_000, "endDate": self.now + 86_400_000]
            body.merge(filter) { $1 }
            let query = token.map { "?paginationToken=\($0)" } ?? ""
            return try await self.client.post("/inApps/v1/notifications/history\(query)", body)
        }
    }

    private static func withServer(
        environment: AppStoreEnvironment = .production,
        reply: @escaping @Sendable (AppReceiver.Post) -> AppReceiver.Reply = { _ in .status(200) },
        configure: (inout SimulatedAppStoreServer.Configuration) -> Void = { _ in },
        _ body: (inout Fixture) async throws -> Void
    ) async throws {
        let maker = try NotificationMaker(app: SimulatedNotificationTests.app, environment: environment)
        let receiver = try await AppReceiver.start(reply: reply)
        let sender = try AppStoreSender(.init(url: "http://127.0.0.1:\(receiver.port)/", signer: maker.signer))
        let credentials = try TestCredentials()
        var configuration = SimulatedAppStoreServer.Configuration(
            credentials: credentials,
            maker: maker,
            sender: sender
        )
        configuration.runsSender = false
        configure(&configuration)
        let server = try await SimulatedAppStoreServer.start(configuration)
        let client = APIClient(port: server.port, credentials: credentials)
        var fixture = Fixture(maker: maker, receiver: receiver, sender: sender, server: server, client: client)
        let result: Result<Void, any Error>
        do {
            result = .success(try await body(&fixture))
        } catch {
            result = .failure(error)
        }
        await server.stop()
        await receiver.stop()
        try result.get()
    }

    private static func payloads(_ answer: APIClient.Answer) -> [String] {
        let items = answer.object["notificationHistory"] as? [[String: Any]] ?? []
        return items.compactMap { $0["signedPayload"] as? String }
    }

    /// The UUIDs of the notifications of an answer. They are verified.
    private static func uuids(_ answer: APIClient.Answer, _ maker: NotificationMaker) throws -> [String] {
        let verifier = try SimulatedNotificationTests.verifier(maker)
        return try Self.payloads(answer).map { try verifier.verify(signedPayload: $0).uuid }
    }

    // MARK: History

    @Test func `the history has all notifications, twenty a page, with their attempts`() async throws {
        try await Self.withServer { fixture in
            for _ in 0..<45 { fixture.sender.add(try fixture.maker.make(.init(.test))) }
            await fixture.sender.run()
            var (pages, token): ([[String]], String?) = ([], nil)
            repeat {
                let answer = try await fixture.history(token: token)
                #expect(answer.status == 200)
                pages.append(try Self.uuids(answer, fixture.maker))
                token = answer.object["paginationToken"] as? String
                #expect(answer.object["hasMore"] as? Bool == (token != nil))
            } while token != nil
            #expect(pages.map(\.count) == [20, 20, 5])
            #expect(pages.flatMap(\.self) == fixture.sender.records.map(\.notification.uuid))
        }
    }

    @Test func `the history filters by transaction, by type and by failure`() async throws {
        try await Self.withServer(reply: { post in .status(post.body.count > 8000 ? 200 : 404) }) { fixture in
            var made: [SimulatedNotification] = []
            for kind in SimulatedNotification.Kind.version2 { made.append(try fixture.maker.make(kind)) }
            for notification in made { fixture.sender.add(notification) }
            await fixture.sender.run(until: fixture.sender.now.addingTimeInterval(1800))
            let refunds = made.filter { $0.kind.type == .refund }
            let refund = try #require(refunds.first)
            let one = try await fixture.history(["transactionId": try #require(refund.customer)])
            #expect(try Self.uuids(one, fixture.maker) == [refund.uuid])
            let expired = try await fixture.history(["notificationType": "EXPIRED"])
            #expect(Self.payloads(expired).count == 4)
            let voluntary = try await fixture.history([
                "notificationType": "EXPIRED", "notificationSubtype": "VOLUNTARY",
            ])
            #expect(Self.payloads(voluntary).count == 1)
            let failures = try await fixture.history(["onlyFailures": true])
            let small = made.filter { $0.post.count <= 8000 }.map(\.uuid)
            #expect(small.count == 5)
            let failed = try Self.uuids(failures, fixture.maker)
            #expect(failed == small)
            let items = try #require(failures.object["notificationHistory"] as? [[String: Any]])
            let attempts = try #require(items.first?["sendAttempts"] as? [[String: Any]])
            #expect(attempts.map { $0["sendAttemptResult"] as? String } == ["UNSUCCESSFUL_HTTP_RESPONSE_CODE"])
            #expect(attempts.first?["attemptDate"] is Int)
        }
    }

    @Test func `each wrong request for the history has its error code`() async throws {
        try await Self.withServer { fixture in
            for _ in 0..<21 { fixture.sender.add(try fixture.maker.make(.init(.test))) }
            await fixture.sender.run()
            let start = fixture.now
            let cases: [(code: Int, body: [String: Any])] = [
                (4_000_006, ["transactionId": "abc"]),
                (4_000_012, ["startDate": start - 181 * 86_400_000]),
                (4_000_013, ["startDate": start, "endDate": start - 1]),
                (4_000_015, ["startDate": "yesterday"]),
                (4_000_016, ["endDate": "tomorrow"]),
                (4_000_018, ["notificationType": "NEVER_HEARD"]),
                (4_000_018, ["notificationSubtype": "VOLUNTARY"]),
                (4_000_019, ["notificationType": "REFUND", "transactionId": "1"]),
            ]
            for (code, body) in cases {
                let answer = try await fixture.history(body)
                #expect(answer.errorCode == code)
                #expect(answer.status == 400)
                #expect((answer.object["errorMessage"] as? String)?.isEmpty == false)
            }
            #expect(try await fixture.history(token: "unknown").errorCode == 4_000_014)
            // The body must be the same on each page.
            let first = try await fixture.history(["startDate": start - 1_000_000, "endDate": start + 1_000_000])
            let token = try #require(first.object["paginationToken"] as? String)
            let other = try await fixture.history(
                ["startDate": start - 1_000_000, "endDate": start + 1_000_001],
                token: token
            )
            #expect(other.errorCode == 4_000_014)
        }
    }

    @Test func `the sandbox's history begins thirty days ago`() async throws {
        try await Self.withServer(environment: .sandbox) { fixture in
            let early = try await fixture.history(["startDate": fixture.now - 31 * 86_400_000])
            #expect(early.errorCode == 4_000_012)
            #expect(try await fixture.history(["startDate": fixture.now - 30 * 86_400_000]).status == 200)
        }
    }

    // MARK: Test notifications

    @Test func `a test notification is posted, and its state can be asked for`() async throws {
        try await Self.withServer { fixture in
            let asked = try await fixture.client.post("/inApps/v1/notifications/test")
            let token = try #require(asked.object["testNotificationToken"] as? String)
            let path = "/inApps/v1/notifications/test/\(token)"
            #expect(try await fixture.client.get(path).errorCode == 4_040_008)
            await fixture.sender.run()
            let state = try await fixture.client.get(path)
            let payload = try #require(state.object["signedPayload"] as? String)
            let attempts = try #require(state.object["sendAttempts"] as? [[String: Any]])
            #expect(attempts.map { $0["sendAttemptResult"] as? String } == ["SUCCESS"])
            #expect(fixture.receiver.posts.map(\.body) == [Array("{\"signedPayload\":\"\(payload)\"}".utf8)])
            #expect(try await fixture.client.get("/inApps/v1/notifications/test/abc").errorCode == 4_000_020)
        }
    }

    @Test func `without a server URL there is no test notification`() async throws {
        try await Self.withServer(configure: { $0.sender = nil }) { fixture in
            let answer = try await fixture.client.post("/inApps/v1/notifications/test")
            #expect(answer.status == 404)
            #expect(answer.errorCode == 4_040_007)
        }
    }

    // MARK: Purchases

    @Test func `statuses and transactions are those of the notifications`() async throws {
        try await Self.withServer { fixture in
            let date = Date()
            let first = try fixture.maker.make(.init(.subscribed, "INITIAL_BUY"), at: date.addingTimeInterval(-100))
            let customer = try #require(first.customer)
            fixture.sender.add(first)
            let last = try fixture.maker.make(.init(.expired, "VOLUNTARY"), customer: customer, at: date)
            fixture.sender.add(last)
            let status = try await fixture.client.get("/inApps/v1/subscriptions/\(customer)")
            let groups = try #require(status.object["data"] as? [[String: Any]])
            let transactions = try #require(groups.first?["lastTransactions"] as? [[String: Any]])
            #expect(transactions.first?["status"] as? Int == 2)
            #expect(transactions.first?["originalTransactionId"] as? String == customer)
            #expect((transactions.first?["signedRenewalInfo"] as? String)?.split(separator: ".").count == 3)
            let history = try await fixture.client.get("/inApps/v2/history/\(customer)?sort=ASCENDING")
            #expect((history.object["signedTransactions"] as? [String])?.count == 2)
            #expect(history.object["hasMore"] as? Bool == false)
            let revision = try #require(history.object["revision"] as? String)
            let next = try await fixture.client.get("/inApps/v2/history/\(customer)?revision=\(revision)")
            #expect(next.object["signedTransactions"] as? [String] == [])
            #expect(try await fixture.client.get("/inApps/v1/subscriptions/99").errorCode == 4_040_010)
            #expect(try await fixture.client.get("/inApps/v2/history/x").errorCode == 4_000_006)
        }
    }

    // MARK: Tokens, rates and faults

    @Test func `a request without a valid token is answered with 401 and no body`() async throws {
        try await Self.withServer { fixture in
            let client = fixture.client
            let now = Int(Date().timeIntervalSince1970)
            let other = try TestCredentials().tokenKey
            let tokens: [String?] = try [
                nil, "Bearer", "Basic abc", "Bearer a.b.c", "Bearer \(client.token(key: other))",
                "Bearer \(client.token { header, _ in header["kid"] = "OTHERKEY01" })",
                "Bearer \(client.token { header, _ in header["alg"] = "none" })",
                "Bearer \(client.token { _, claims in claims["iss"] = "someone" })",
                "Bearer \(client.token { _, claims in claims["aud"] = "appstoreconnect-v2" })",
                "Bearer \(client.token { _, claims in claims["bid"] = "com.example.other" })",
                "Bearer \(client.token { _, claims in claims["bid"] = nil })",
                "Bearer \(client.token { _, claims in claims["exp"] = now + 3602 })",
                "Bearer \(client.token { _, claims in claims["exp"] = now - 1 })",
                "Bearer \(client.token { _, claims in claims["iat"] = now + 600 })",
                "Bearer \(client.token { _, claims in claims["iat"] = "\(now)" })",
                "Bearer \(client.token { _, claims in (claims["iat"], claims["exp"]) = (nil, now + 3700) })",
            ]
            for token in tokens {
                let answer = try await client.send(.POST, "/inApps/v1/notifications/test", authorization: .some(token))
                #expect(answer.status == 401)
                #expect(answer.body.isEmpty)
            }
            let longest = try client.token { _, claims in claims["exp"] = now + 3600 }
            // So does Apple's client for Python.
            let withoutTime = try client.token { _, claims in claims["iat"] = nil }
            for token in [longest, withoutTime] {
                let answer = try await client.send(
                    .POST,
                    "/inApps/v1/notifications/test",
                    authorization: "bearer \(token)"
                )
                #expect(answer.status == 200)
            }
        }
    }

    @Test func `too many calls are refused until a time in milliseconds`() async throws {
        try await Self.withServer(
            configure: { $0.rateLimits = .init(history: 2, purchases: 10, test: 1) }
        ) { fixture in
            #expect(try await fixture.history().status == 200)
            #expect(try await fixture.history().status == 200)
            let refused = try await fixture.history()
            #expect(refused.status == 429)
            #expect(refused.errorCode == 4_290_000)
            let again = try #require(refused.headers.first(name: "Retry-After").flatMap(Int64.init))
            #expect(fixture.now...fixture.now + 3_700_000 ~= again)
            // Each kind of call has its own limit.
            #expect(try await fixture.client.post("/inApps/v1/notifications/test").status == 200)
        }
    }

    @Test func `faults come in the order that a test wants`() async throws {
        try await Self.withServer { fixture in
            fixture.server.failNext(.internalError)
            fixture.server.failNext(.tryAgain, times: 2)
            fixture.server.failNext(.rateLimited(.seconds(5)))
            fixture.server.failNext(.slow(.milliseconds(20)))
            fixture.server.failNext(.cut)
            var codes: [Int?] = []
            for _ in 0..<5 { codes.append(try await fixture.history().errorCode) }
            #expect(codes == [5_000_000, 5_000_001, 5_000_001, 4_290_000, nil])
            await #expect(throws: APIClient.NoAnswer.self) { try await fixture.history() }
            #expect(try await fixture.history().status == 200)
            #expect(fixture.server.counts.faults == 6)
            #expect(fixture.server.counts.requests == 7)
        }
    }

    @Test func `another path or method is an error, and a long body is refused`() async throws {
        try await Self.withServer { fixture in
            for path in [
                "/", "/inApps", "/inApps/v1/notifications", "/inApps/v3/history/1", "/inApps/v1/notifications/x/y",
            ] {
                #expect(try await fixture.client.get(path).status == 404)
            }
            #expect(try await fixture.client.get("/inApps/v1/notifications/history").status == 405)
            let long = try await fixture.client.send(
                .POST,
                "/inApps/v1/notifications/history",
                body: Array(repeating: 0x20, count: 70_000)
            )
            #expect(long.status == 413)
        }
    }

    @Test func `a server that runs its sender posts a test at once`() async throws {
        try await Self.withServer(configure: { $0.runsSender = true }) { fixture in
            let asked = try await fixture.client.post("/inApps/v1/notifications/test")
            let token = try #require(asked.object["testNotificationToken"] as? String)
            var status = 404
            while status == 404 {
                status = try await fixture.client.get("/inApps/v1/notifications/test/\(token)").status
            }
            #expect(status == 200)
            #expect(fixture.receiver.posts.count == 1)
        }
    }
}
