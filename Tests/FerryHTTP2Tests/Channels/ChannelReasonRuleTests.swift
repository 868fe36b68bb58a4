import FerryCore
import FerryHTTP2
import Testing

@Suite struct ChannelReasonRuleTests {
    /// Apple's table: "Handling error responses from Apple Push Notification service".
    private static let rows: [(status: Int, reasons: [String])] = [
        (
            400,
            [
                "FeatureNotEnabled", "MissingChannelId", "BadChannelId", "ChannelNotRegistered", "BadRequestParams",
                "BadRequestPayload", "PayloadEmpty", "BadMessageId", "MissingPushType", "InvalidPushType",
                "CannotCreateChannelConfig", "BadExpirationDate", "TopicDisallowed", "BadPriority",
            ]
        ),
        (
            403,
            [
                "BadCertificate", "BadCertificateEnvironment", "TopicMismatch", "MissingProviderToken",
                "ExpiredProviderToken", "InvalidProviderToken",
            ]
        ),
        (404, ["BadPath"]), (405, ["MethodNotAllowed"]), (413, ["PayloadTooLarge"]),
        (429, ["TooManyRequests", "TooManyProviderTokenUpdates"]),
        (500, ["InternalServerError"]), (503, ["Service Unavailable", "Shutdown"]),
    ]

    @Test func `The table is Apple's, row by row`() {
        let rows = Self.rows.flatMap { row in row.reasons.map { "\(row.status) \($0)" } }
        #expect(ChannelReasonRule.all.map { "\($0.status) \($0.reason)" } == rows)
        #expect(rows.count == 28)
    }

    @Test func `Each reason of channels alone stands in the table`() {
        for row in Reason.table {
            guard case .channels = row.occurrence else { continue }
            #expect(ChannelReasonRule.of(row.reason) != nil, "\(row.reason)")
        }
    }

    @Test(arguments: ChannelReasonRule.all)
    func `Every reason is explained, and not as one of a notification to a device`(row: ChannelReasonRule) throws {
        let explanation = try #require(row.explanation)
        #expect(explanation.hasSuffix("."))
        #expect(!explanation.contains("device token"), "\(explanation)")
    }

    @Test(arguments: ChannelReasonRule.all)
    func `Each reason ends each operation, with the reason, its status and its meaning`(row: ChannelReasonRule) throws {
        for operation in ChannelRehearsal.operations {
            let apns = ChannelRehearsal()
            apns.submit(operation)
            try apns.exchange()
            // A provider token that has expired is replaced once.
            apns.renewToken()
            try apns.answer(status: row.status.rawValue, body: #"{"reason":"\#(row.reason)"}"#)
            if row.reason == .expiredProviderToken {
                #expect(apns.refusals == [.expiredProviderToken])
                try apns.answer(status: 403, body: #"{"reason":"ExpiredProviderToken"}"#)
            }
            let error = try apns.failure()
            #expect(error.code == .refused)
            #expect(error.reason == row.reason)
            #expect(error.status == row.status.rawValue)
            #expect(error.message.contains("(status \(row.status))"))
            #expect(error.message.contains(try #require(row.explanation)))
            let isUncertain = row.status.rawValue >= 500 && ChannelRehearsal.changes(operation)
            #expect(error.mayHaveTakenEffect == isUncertain)
        }
    }

    @Test func `A reason that Apple adds later is kept, and one that is missing is unknown`() throws {
        for (body, reason) in [(#"{"reason":"FromNextYear"}"#, Reason(rawValue: "FromNextYear")), ("", .unknown)] {
            let apns = ChannelRehearsal()
            apns.submit(.list)
            try apns.exchange()
            try apns.answer(status: 418, body: body)
            let error = try apns.failure()
            #expect(error.reason == reason)
            #expect(error.status == 418)
        }
    }
}
