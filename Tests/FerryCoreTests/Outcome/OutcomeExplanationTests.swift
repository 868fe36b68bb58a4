import FerryCore
import Testing

/// What an outcome says to people.
struct OutcomeExplanationTests {
    @Test func `A refusal by Ferry says what Ferry found`() {
        let details = PayloadLimit.fault(length: 3000, limit: PayloadLimit.binary).asSentence
        let rejection = Rejection(reason: .payloadTooLarge, origin: .ferry, details: details)
        #expect(rejection.explanation == "The payload has 3000 bytes; the limit is 2048.")
        #expect(Outcome.rejected(rejection).explanation == rejection.explanation)
    }

    @Test func `The same refusal with other details is the same refusal`() {
        let one = Rejection(reason: .payloadTooLarge, origin: .ferry, details: "The payload has 3000 bytes.")
        let other = Rejection(reason: .payloadTooLarge, origin: .ferry)
        #expect(one == other && one.hashValue == other.hashValue)
        #expect(one != Rejection(reason: .payloadTooLarge, origin: .gateway))
    }

    @Test(arguments: [(Rejection.Origin.apns, ["4096", "5120"]), (.gateway, ["2048", "256"])])
    func `Each protocol's refusal of a long payload names its own limits`(origin: Rejection.Origin, limits: [String]) {
        let explanation = Rejection(reason: .payloadTooLarge, origin: origin).explanation ?? ""
        for limit in ["256", "2048", "4096", "5120"] {
            #expect(explanation.contains(" \(limit) ") == limits.contains(limit), "\(limit): \(explanation)")
        }
    }

    @Test func `APNs' refusal of a topic names the suffix of push types`() {
        let explanation = Rejection(reason: .badTopic, origin: .apns, status: 400).explanation
        #expect(explanation?.contains(".voip") == true)
    }

    @Test func `Without a connection, the explanation says where the cause is named`() {
        let explanation = Outcome.undelivered(.noConnection).explanation
        #expect(explanation?.contains("lastError") == true && explanation?.contains("log") == true)
    }
}
