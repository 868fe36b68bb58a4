import FerryCore
import Foundation
import Testing

@testable import FerryGateway

/// The table of answers, row by row.
@Suite struct AnswerTests {
    private static func answer(_ reason: Reason, _ status: Int?) -> Answer {
        Answer(to: .rejected(Rejection(reason: reason, origin: .apns, status: status)))
    }

    @Test func `an acceptance is accepted, presumed or confirmed`() {
        #expect(Answer(to: .accepted(.confirmed)) == .accepted)
        #expect(Answer(to: .accepted(.presumed)) == .accepted)
    }

    @Test(arguments: [Reason.unregistered, .expiredToken])
    func `a device that lost the app is accepted in silence, and goes to the feedback list with APNs' time`(
        reason: Reason
    ) {
        let time = Date(timeIntervalSince1970: 1_700_000_000)
        let rejection = Rejection(reason: reason, origin: .apns, status: 410, timestamp: time)
        #expect(Answer(to: .rejected(rejection)) == .gone(since: 1_700_000_000))
    }

    @Test(arguments: [
        (Reason.badDeviceToken, BinaryStatus.invalidToken), (.missingDeviceToken, .missingDeviceToken),
        (.payloadEmpty, .missingPayload), (.payloadTooLarge, .invalidPayloadSize),
        (.invalidTokenSize, .invalidTokenSize),
    ])
    func `a fault of the notification has its status`(reason: Reason, status: BinaryStatus) {
        #expect(Self.answer(reason, 400) == .refused(status))
    }

    @Test func `a token for another topic is tried with the identity's other topics`() {
        #expect(Self.answer(.deviceTokenNotForTopic, 400) == .tryOtherTopic)
    }

    @Test(arguments: [
        Reason.missingTopic, .badTopic, .topicDisallowed, .badCertificate, .badCertificateEnvironment,
        .badEnvironmentKeyIDInToken, .forbidden, .invalidProviderToken, .missingProviderToken, .unrelatedKeyIDInToken,
    ])
    func `a fault of topic or credentials is never blamed on one notification`(reason: Reason) {
        #expect(Self.answer(reason, 403) == .blocked)
    }

    @Test func `credentials that the provider could not use block`() {
        #expect(Answer(to: .undelivered(.credentials)) == .blocked)
    }

    @Test(arguments: [
        Reason.badPriority, .badExpirationDate, .badCollapseID, .badMessageID, .invalidPushType, .duplicateHeaders,
        .badPath,
        .methodNotAllowed,
    ])
    func `a fault of the gateway's own is a dead letter, and no client hears of it`(reason: Reason) {
        #expect(Self.answer(reason, 400) == .deadLetter)
    }

    @Test(arguments: [
        (Reason.expiredProviderToken, 403), (.tooManyProviderTokenUpdates, 429), (.internalServerError, 500),
        (.serviceUnavailable, 503), (.shutdown, 503), (.idleTimeout, 400),
    ])
    func `a notification with a passing fault is sent again`(reason: Reason, status: Int) {
        #expect(Self.answer(reason, status) == .retry(.later))
    }

    @Test func `a device that gets too many waits, and holds up nothing else`() {
        #expect(Self.answer(.tooManyRequests, 429) == .retry(.deviceIsBusy))
    }

    @Test func `an undelivered notification is sent again`() {
        #expect(Answer(to: .undelivered(.noConnection)) == .retry(.later))
        #expect(Answer(to: .undelivered(.deadline)) == .retry(.later))
    }

    @Test func `the configuration decides about a notification that may have arrived`() {
        #expect(Answer(to: .uncertain(.positionUnknown)) == .unknown)
    }

    @Test func `a reason that Ferry does not know is judged by its status`() {
        #expect(Self.answer(Reason(rawValue: "New"), 400) == .deadLetter)
        #expect(Self.answer(Reason(rawValue: "New"), 503) == .retry(.later))
    }
}
