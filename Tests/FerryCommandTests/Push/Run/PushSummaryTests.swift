import Ferry
import Testing

@testable import FerryCommand

@Suite struct PushSummaryTests {
    static var summary: PushSummary {
        var outcomes = OutcomeCounts()
        outcomes.confirmed = 1
        outcomes.presumed = 2
        outcomes.rejected = 3
        outcomes.expired = 4
        outcomes.undelivered = 5
        outcomes.uncertain = 6
        return PushSummary(
            submitted: 21,
            outcomes: outcomes,
            unproved: 10,
            contradicted: 7,
            resent: 8,
            badLines: 9,
            duration: .milliseconds(1500)
        )
    }

    @Test func `the summary is one line of JSON`() {
        #expect(
            Self.summary.json
                == #"{"submitted":21,"accepted":{"confirmed":1,"presumed":2},"rejected":3,"expired":4,"undelivered":5,"#
                + #""uncertain":6,"unproved":10,"contradicted":7,"resent":8,"badLines":9,"seconds":1.500,"perSecond":14.0}"#
        )
        #expect(PushSummary().json.hasSuffix(#""seconds":0.000,"perSecond":0.0}"#))
    }

    @Test func `the table has every number`() {
        let lines = Self.summary.table.split(separator: "\n")
        #expect(lines.first == "submitted               21")
        #expect(lines.count == 13)
        #expect(lines.last == "per second            14.0")
    }

    @Test func `everything is accepted only if nothing is missing, contradicted or bad`() {
        var summary = PushSummary(submitted: 3)
        #expect(!summary.isAllAccepted)
        summary.outcomes.confirmed = 1
        summary.outcomes.presumed = 2
        #expect(summary.isAllAccepted)
        summary.contradicted = 1
        #expect(!summary.isAllAccepted)
        summary.contradicted = 0
        summary.badLines = 1
        #expect(!summary.isAllAccepted)
    }
}
