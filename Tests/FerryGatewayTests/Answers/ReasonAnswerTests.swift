import FerryBinary
import FerryCore
import Foundation
import Testing

@testable import FerryGateway

/// Walks all reasons. The rows are written out, so that a change of the table has to be meant.
@Suite struct ReasonAnswerTests {
    /// Words with APNs' status, the answer of a gateway as Apple's, the answer of ours, and the status that it tells.
    private static let rows: [(words: [String], status: Int?, binary: UInt8, answer: Answer, told: UInt8)] = [
        (["BadCollapseId", "BadExpirationDate", "BadMessageId", "BadPriority"], 400, 255, .deadLetter, 0),
        (["DuplicateHeaders", "InvalidPushType"], 400, 255, .deadLetter, 0),
        (["BadDeviceToken"], 400, 8, .refused(.invalidToken), 8),
        (["DeviceTokenNotForTopic"], 400, 8, .tryOtherTopic, 8),
        (["MissingDeviceToken"], 400, 2, .refused(.missingDeviceToken), 2),
        (["PayloadEmpty"], 400, 4, .refused(.missingPayload), 4),
        (["BadTopic"], 400, 6, .blocked, 0),
        (["MissingTopic", "TopicDisallowed"], 400, 3, .blocked, 0),
        (["IdleTimeout"], 400, 1, .retry(.later), 0),
        (["BadCertificate", "BadCertificateEnvironment", "Forbidden"], 403, 255, .blocked, 0),
        (["InvalidProviderToken", "MissingProviderToken"], 403, 255, .blocked, 0),
        (["UnrelatedKeyIdInToken", "BadEnvironmentKeyIdInToken"], 403, 255, .blocked, 0),
        (["ExpiredProviderToken"], 403, 1, .retry(.later), 0),
        (["BadPath"], 404, 255, .deadLetter, 0),
        (["MethodNotAllowed"], 405, 255, .deadLetter, 0),
        (["ExpiredToken", "Unregistered"], 410, 8, .gone(since: nil), 0),
        (["PayloadTooLarge"], 413, 7, .refused(.invalidPayloadSize), 7),
        (["TooManyProviderTokenUpdates"], 429, 1, .retry(.later), 0),
        (["TooManyRequests"], 429, 1, .retry(.deviceIsBusy), 0),
        (["InternalServerError"], 500, 1, .retry(.later), 0),
        (["ServiceUnavailable"], 503, 1, .retry(.later), 0),
        (["Shutdown"], 503, 10, .retry(.later), 0),

        (["BadChannelId", "MissingChannelId", "ChannelNotRegistered"], 400, 255, .deadLetter, 0),
        (["CannotCreateChannelConfig", "FeatureNotEnabled"], 400, 255, .deadLetter, 0),
        (["BadRequestParams", "MissingPushType"], 400, 255, .deadLetter, 0),
        (["BadRequestPayload"], 400, 7, .deadLetter, 0),
        (["TopicMismatch"], 403, 255, .deadLetter, 0),
        (["Service Unavailable"], 503, 1, .retry(.later), 0),

        (["NoErrorsEncountered"], nil, 0, .retry(.later), 0),
        (["ProcessingError"], nil, 1, .retry(.later), 0),
        (["InvalidTokenSize"], nil, 5, .refused(.invalidTokenSize), 5),
        (["InvalidTopicSize"], nil, 6, .blocked, 0),
        (["ProtocolError"], nil, 128, .deadLetter, 0),
        (["Unknown"], nil, 255, .retry(.later), 0),
    ]

    @Test func `every known reason has an answer, and the interface for C tells the same status`() {
        for row in Self.rows {
            for word in row.words {
                let reason = Reason(rawValue: word)
                let rejection = Rejection(reason: reason, origin: .apns, status: row.status)
                #expect(reason.row?.httpStatus == row.status, "\(word)")
                #expect(reason.binaryStatus == row.binary, "\(word)")
                #expect(Answer(to: .rejected(rejection)) == row.answer, "\(word)")
                #expect(rejection.legacyStatus == row.told, "\(word)")
            }
        }
        #expect(Set(Self.rows.flatMap(\.words)) == Set(Reason.table.map(\.reason.rawValue)))
    }

    @Test(arguments: Reason.table)
    func `what the gateway tells and what a program in C is told agree, whoever found the fault`(row: ReasonRow) {
        for origin in [Rejection.Origin.apns, .ferry] {
            let rejection = Rejection(reason: row.reason, origin: origin, status: row.httpStatus)
            let told =
                switch Answer(to: .rejected(rejection)) {
                case .refused(let status): status.rawValue
                case .tryOtherTopic: BinaryStatus.invalidToken.rawValue
                default: UInt8(0)
                }
            #expect(rejection.legacyStatus == told)
        }
    }

    @Test func `a payload that is no JSON object is told as status 7, as the gateway's own check tells it`() {
        let ours = Rejection(reason: .badRequestPayload, origin: .ferry)
        #expect(ours.legacyStatus == 7)
        #expect(Answer(to: .rejected(ours)) == .refused(.invalidPayloadSize))
    }

    @Test func `what a gateway of the binary protocol said is told as it said it`() {
        for origin in [Rejection.Origin.gateway, .inferred] {
            for status: UInt8 in [1, 2, 8, 77, 255] {
                let reason = Reason(binaryStatus: status)
                #expect(Rejection(reason: reason, origin: origin, status: Int(status)).legacyStatus == status)
            }
        }
    }

    @Test func `a reason that Ferry does not know is told to nobody`() {
        for status in [400, 410, 503] {
            #expect(Rejection(reason: Reason(rawValue: "New"), origin: .apns, status: status).legacyStatus == 0)
        }
    }

    @Test func `the gateway's own checks tell the status of the reason for the same fault`() {
        let faults: [(NotificationRefusal.Fault, Reason)] = [
            (.missingToken, .missingDeviceToken), (.missingPayload, .payloadEmpty),
            (.tokenTooLong(101), .invalidTokenSize), (.payloadTooLong(5121), .payloadTooLarge),
            (.itemOverrun, .protocolError),
        ]
        for (fault, reason) in faults { #expect(reason.row?.binaryStatus == fault.status) }
    }

    @Test(arguments: Reason.table)
    func `refusals of tokens are countable, and those of credentials are not`(row: ReasonRow) {
        let verdict = Verdict(of: .rejected(Rejection(reason: row.reason, origin: .apns, status: row.httpStatus)))
        let expected: Verdict =
            switch row.reason {
            case .unregistered, .expiredToken: .taken
            case .badDeviceToken, .deviceTokenNotForTopic: .countable
            default: row.httpStatus ?? 0 >= 500 ? .failed : .other
            }
        #expect(verdict == expected)
    }
}
