import FerryBinary
import FerryCore
import NIOCore
import Testing

@testable import FerryBinaryWorld

/// Gateways that end connections for their own reasons: no notification is guilty, and the delay means nothing.
@Suite struct OwnTroubleTests {
    @Test(arguments: [nil, 200] as [Int64?])
    func `status 10 without an identifier every 2 s raises no settle time, so that everything settles`(
        perSecond: Int64?
    ) async {
        let courses = await Counterexample(names: 600, perSecond: perSecond, culprits: 0) { schedule, _ in
            schedule.trouble = .init(every: .seconds(2), word: ReferenceGateway.response(10, 0))
        }.courses()
        for course in courses {
            #expect(course.fault == nil && course.lost.isEmpty && course.rejected.isEmpty, "\(course)")
            #expect(course.deliveries <= 12 && course.seconds < 120, "\(course)")
        }
        #expect(courses.mean(\.deliveries) <= 6)
    }

    /// The answer to the probe comes without a name, and raises the settle time above the 2 s.
    @Test func `status 10 before the settle time has passed neither repeats for ever nor holds a shutdown`() async {
        let courses = await Counterexample(names: 2, culprits: 0, roundTrips: 1...20, settlesFirst: true) {
            schedule,
            _ in
            schedule.rules.probeAnswer = .nameless(5)
            schedule.errorDelays = .milliseconds(500) ... .milliseconds(500)
            schedule.trouble = .init(every: .seconds(2), word: ReferenceGateway.response(10, 0))
        }.courses()
        for course in courses {
            #expect(course.fault == nil && course.silentlyLost.isEmpty && course.rejected.isEmpty, "\(course)")
            #expect(course.deliveries <= 12 && course.seconds < 600, "\(course)")
        }
    }

    @Test func `status 255 without an identifier three times a second blames nobody`() async {
        let courses = await Counterexample(culprits: 0) { schedule, _ in
            schedule.trouble = .init(
                every: .milliseconds(333),
                isByChance: true,
                word: ReferenceGateway.response(255, 0)
            )
        }.courses()
        for course in courses {
            #expect(course.fault == nil && course.silentlyLost.isEmpty && course.rejected.isEmpty, "\(course)")
        }
        #expect(courses.mean(\.uncertain.count) <= 60)
    }

    @Test func `a peer that closes three times a second loses nothing without a word`() async {
        let courses = await Counterexample(culprits: 0) { schedule, _ in
            schedule.trouble = .init(every: .milliseconds(333), isByChance: true)
        }.courses()
        for course in courses {
            #expect(course.fault == nil && course.silentlyLost.isEmpty && course.rejected.isEmpty, "\(course)")
        }
    }
}
