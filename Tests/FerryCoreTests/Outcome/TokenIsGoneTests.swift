import FerryCore
import Foundation
import Testing

@Suite struct TokenIsGoneTests {
    private static let time = Date(timeIntervalSince1970: 1_700_000_000)

    private static func refusal(_ reason: Reason, _ origin: Rejection.Origin, _ status: Int) -> Rejection {
        Rejection(reason: reason, origin: origin, status: status)
    }

    @Test(arguments: [Reason.unregistered, .expiredToken])
    func `a token that APNs says is gone is gone, unless the device registered since`(reason: Reason) {
        var rejection = Self.refusal(reason, .apns, 410)
        #expect(rejection.tokenIsGone(confirmed: 0))
        #expect(rejection.tokenIsGone(confirmed: 0, registered: Self.time))
        rejection.timestamp = Self.time
        #expect(rejection.tokenIsGone(confirmed: 0, registered: Self.time))
        #expect(!rejection.tokenIsGone(confirmed: 5, registered: Self.time + 1))
        #expect(Outcome.rejected(rejection).tokenIsGone(confirmed: 0))
    }

    @Test(arguments: [
        refusal(.badDeviceToken, .apns, 400), refusal(.badDeviceToken, .gateway, 8),
        refusal(.invalidTokenSize, .gateway, 5),
    ])
    func `a bad token is gone if others were accepted, and nothing is forgotten in the wrong environment`(
        rejection: Rejection
    ) {
        #expect(rejection.tokenIsGone(confirmed: 1))
        #expect(!rejection.tokenIsGone(confirmed: 0))
    }

    @Test(arguments: [
        refusal(.badDeviceToken, .ferry, 0), refusal(.unknown, .inferred, 255),
        refusal(.deviceTokenNotForTopic, .apns, 400), refusal(.payloadTooLarge, .apns, 413),
        refusal(.processingError, .gateway, 1), refusal(.missingDeviceToken, .gateway, 2),
    ])
    func `any other refusal says nothing about the token`(rejection: Rejection) {
        #expect(!rejection.tokenIsGone(confirmed: 1000))
    }

    @Test func `an outcome that is no rejection keeps the token`() {
        for outcome in [Outcome.accepted(.presumed), .expired, .undelivered(.noConnection), .uncertain(.noAnswer)] {
            #expect(!outcome.tokenIsGone(confirmed: 1000))
        }
    }
}
