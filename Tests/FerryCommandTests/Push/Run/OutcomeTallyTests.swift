import Ferry
import Foundation
import Testing

@testable import FerryCommand

@Suite struct OutcomeTallyTests {
    private static func tally(_ outcomes: [Outcome], resendsUnknown: Bool = false) -> OutcomeTally {
        let tally = OutcomeTally(resendsUnknown: resendsUnknown)
        let records = outcomes.map { OutcomeRecord(tag: 0, outcome: $0) }
        tally.settled(records.span)
        return tally
    }

    private static func table(_ outcomes: [Outcome], resendsUnknown: Bool = false) -> String? {
        self.tally(outcomes, resendsUnknown: resendsUnknown).table
    }

    private static func rejected(_ reason: Reason, timestamp: Date? = nil) -> Outcome {
        .rejected(Rejection(reason: reason, origin: .apns, status: 400, timestamp: timestamp))
    }

    @Test func `there is nothing to say of acceptances`() {
        #expect(Self.table([.accepted(.confirmed), .accepted(.presumed)]) == nil)
    }

    @Test func `the most frequent cause comes first, with what it means`() {
        let bad = [Outcome](repeating: Self.rejected(.badDeviceToken), count: 12)
        #expect(
            Self.table([.uncertain(.noAnswer), .accepted(.confirmed)] + bad) == """
                12  rejected: BadDeviceToken (400). The device token is invalid, or belongs to the other environment. \
                Forget it if other device tokens were accepted. If none was, check whether it is for production or for \
                development.
                 1  uncertain: noAnswer. The peer did not answer in time. It may have arrived: send it again only if twice is \
                better than never. --on-unknown resend does that.
                """
        )
    }

    @Test func `connections that end are told from answers`() {
        #expect(Self.tally([.uncertain(.positionUnknown), .uncertain(.peerCloses)]).isOnlyOfLostConnections)
        #expect(!Self.tally([.uncertain(.peerCloses), Self.rejected(.badDeviceToken)]).isOnlyOfLostConnections)
        #expect(!Self.tally([.uncertain(.shutDown)]).isOnlyOfLostConnections)
        #expect(!Self.tally([]).isOnlyOfLostConnections)
    }

    @Test func `--on-unknown resend is advised where it would change something`() {
        for cause in [.noAnswer, .positionUnknown, .reset] as [Outcome.UncertainCause] {
            #expect(Self.table([.uncertain(cause)])?.hasSuffix(" --on-unknown resend does that.") == true)
            #expect(
                Self.table([.uncertain(cause)], resendsUnknown: true)?.hasSuffix(" twice is better than never.") == true
            )
        }
        #expect(Self.table([.uncertain(.shutDown)])?.contains("--on-unknown") == false)
    }

    @Test func `devices that are gone at different times are one cause`() {
        let gone = (1...3).map { Self.rejected(.unregistered, timestamp: Date(timeIntervalSince1970: Double($0))) }
        #expect(Self.table(gone)?.hasPrefix("3  rejected: Unregistered (400). ") == true)
        #expect(Self.table(gone)?.contains("\n") == false)
    }

    @Test func `five causes are listed, however many there are, and the rest is counted`() {
        let made = (0..<1000).map { Self.rejected(Reason(rawValue: "New\($0)")) }
        let known = [Outcome](repeating: .expired, count: 2)
        let lines = Self.table(known + made)?.split(separator: "\n") ?? []
        #expect(lines.count == 6)
        #expect(
            lines.first?.hasPrefix("  2  expired. The expiration passed before the notification was written.") == true
        )
        #expect(lines.last == "996  others")
    }
}
