import FerryCore
import Testing

@testable import FerryHTTP2

@Suite struct ReasonRuleTests {
    /// Apple's table of error strings, with the reference's rule for trying again.
    static let rows: [(status: Int, reason: String, retry: RetryRule, counts: Bool)] = [
        (400, "BadCollapseId", .afterRepair, false),
        (400, "BadDeviceToken", .never, true),
        (400, "BadExpirationDate", .afterRepair, false),
        (400, "BadMessageId", .afterRepair, false),
        (400, "BadPriority", .afterRepair, false),
        (400, "BadTopic", .afterRepair, false),
        (400, "DeviceTokenNotForTopic", .never, true),
        (400, "DuplicateHeaders", .afterRepair, false),
        (400, "IdleTimeout", .elsewhere, false),
        (400, "InvalidPushType", .afterRepair, false),
        (400, "MissingDeviceToken", .afterRepair, false),
        (400, "MissingTopic", .afterRepair, false),
        (400, "PayloadEmpty", .afterRepair, false),
        (400, "TopicDisallowed", .afterRepair, false),
        (403, "BadCertificate", .afterRepair, true),
        (403, "BadCertificateEnvironment", .afterRepair, true),
        (403, "ExpiredProviderToken", .withNewToken, true),
        (403, "Forbidden", .never, true),
        (403, "InvalidProviderToken", .afterRepair, true),
        (403, "MissingProviderToken", .afterRepair, true),
        (403, "UnrelatedKeyIdInToken", .onNewConnection, true),
        (403, "BadEnvironmentKeyIdInToken", .afterRepair, true),
        (404, "BadPath", .afterRepair, false),
        (405, "MethodNotAllowed", .afterRepair, false),
        (410, "ExpiredToken", .never, false),
        (410, "Unregistered", .never, false),
        (413, "PayloadTooLarge", .never, false),
        (429, "TooManyProviderTokenUpdates", .whenThawed, false),
        (429, "TooManyRequests", .forDevice, false),
        (500, "InternalServerError", .later, false),
        (503, "ServiceUnavailable", .later, false),
        (503, "Shutdown", .later, false),
    ]

    @Test func `The table is Apple's, whole and in order`() {
        #expect(ReasonRule.all.map(\.reason.rawValue) == Self.rows.map(\.reason))
        #expect(ReasonRule.all.map(\.status.rawValue) == Self.rows.map(\.status))
    }

    @Test(arguments: Self.rows)
    func `Each reason is answered by its rule`(
        row: (status: Int, reason: String, retry: RetryRule, counts: Bool)
    ) throws {
        let answer = try #require(decode([(":status", "\(row.status)")], body: #"{"reason":"\#(row.reason)"}"#))
        #expect(answer.retryRule == row.retry)
        #expect(answer.countsAgainstConnection == row.counts)
        let rejection = Rejection(reason: Reason(rawValue: row.reason), origin: .apns, status: row.status)
        #expect(answer.rejection == rejection)
        #expect(answer.reason?.explanation != nil)
        #expect(answer.status.meaning != nil)
    }

    @Test(
        arguments: [
            (400, .afterRepair), (403, .afterRepair), (404, .afterRepair), (405, .afterRepair), (410, .never),
            (413, .never), (418, .afterRepair), (429, .forDevice), (499, .afterRepair), (500, .later), (502, .later),
            (503, .later), (599, .later), (600, .afterRepair), (101, .afterRepair), (301, .afterRepair),
        ] as [(Int, RetryRule)]
    )
    func `Without a known reason the status decides`(status: Int, rule: RetryRule) {
        for reason in [nil, Reason(rawValue: "FromNextYear"), .unknown] {
            let answer = PushAnswer(status: HTTPStatus(rawValue: status), reason: reason)
            #expect(answer.retryRule == rule)
            #expect(answer.countsAgainstConnection == (status == 403))
        }
    }

    @Test func `A status decides as its reasons do, where they agree`() {
        for (status, rows) in Dictionary(grouping: ReasonRule.all, by: \.status) {
            let rules = Set(rows.map(\.retry))
            guard rules.count == 1 else { continue }
            #expect(PushAnswer(status: status).retryRule == rules.first, "\(status)")
        }
    }

    @Test func `A refusal is final at once where nothing but a person can help`() {
        #expect(RetryRule.allCases.filter(\.isFinal) == [.never, .afterRepair])
    }
}
