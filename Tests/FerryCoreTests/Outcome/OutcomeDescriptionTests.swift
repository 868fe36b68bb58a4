import FerryCore
import Testing

@Suite struct OutcomeDescriptionTests {
    @Test(arguments: [
        (Outcome.accepted(.confirmed), "accepted (confirmed)"),
        (.accepted(.presumed), "accepted (presumed)"),
        (.rejected(Rejection(reason: .badDeviceToken, origin: .apns, status: 400)), "rejected: BadDeviceToken (400)"),
        (.rejected(Rejection(reason: .badDeviceToken, origin: .gateway, status: 8)), "rejected: BadDeviceToken (8)"),
        (.rejected(Rejection(reason: .unknown, origin: .inferred, status: 255)), "rejected: Unknown (255, inferred)"),
        (.rejected(Rejection(reason: .payloadTooLarge, origin: .ferry)), "rejected: PayloadTooLarge (ferry)"),
        (.rejected(Rejection(reason: .badTopic, origin: .apns)), "rejected: BadTopic"),
        (.expired, "expired"),
        (.undelivered(.noConnection), "undelivered: noConnection"),
        (.uncertain(.positionUnknown), "uncertain: positionUnknown"),
    ])
    func `an outcome says its word, and how or why`(outcome: Outcome, text: String) {
        #expect("\(outcome)" == text)
        #expect("\(OutcomeRecord(tag: 7, outcome: outcome))" == "7: \(text)")
    }

    @Test func `a report says what is not zero`() {
        var counts = OutcomeCounts()
        #expect("\(DrainReport(outcomes: counts, unsettled: 0, contradicted: 0, resent: 0))" == "no outcomes")
        counts.confirmed = 10
        #expect("\(counts)" == "10 accepted (10 confirmed)")
        counts.presumed = 2
        counts.rejected = 1
        counts.uncertain = 5
        let report = DrainReport(outcomes: counts, unsettled: 3, contradicted: 0, resent: 4, strayBytes: 6)
        #expect(
            "\(report)" == "12 accepted (10 confirmed, 2 presumed), 1 rejected, 5 uncertain; "
                + "3 unsettled, 4 resent, 6 stray bytes"
        )
    }

    @Test func `what went wrong has an explanation, and an acceptance has none`() {
        let rejection = Rejection(reason: .unregistered, origin: .apns, status: 410)
        #expect(Outcome.rejected(rejection).explanation == Reason.unregistered.explanation)
        #expect(Outcome.rejected(Rejection(reason: Reason(rawValue: "New"), origin: .apns)).explanation == nil)
        #expect(Outcome.accepted(.presumed).explanation == nil)
        for cause in [.noAnswer, .positionUnknown, .reset, .shutDown] as [Outcome.UncertainCause] {
            #expect(
                Outcome.uncertain(cause).explanation?.contains("It may have arrived: send it again only if") == true
            )
        }
        for outcome in [.expired, .undelivered(.deadline), .uncertain(.noAnswer)] as [Outcome] {
            #expect(outcome.explanation?.hasSuffix(".") == true)
        }
    }

    @Test func `an explanation holds for each way to its outcome, over either protocol`() {
        // The peer may have made and closed connections, or the deadline passed between two of them.
        #expect(Outcome.undelivered(.noConnection).explanation?.contains("failed") == false)
        // Over HTTP/2 no outcome waits for silence.
        #expect(Outcome.uncertain(.shutDown).explanation?.contains("answered") == true)
        // A token that cannot be signed was never refused.
        #expect(Outcome.undelivered(.credentials).explanation?.contains("token") == true)
    }
}
