import FerryBinary
import FerryCore
import NIOCore
import Testing

@testable import FerryBinaryWorld

/// The cost of a search for a culprit, in copies and in time.
@Suite struct SearchCostTests {
    @Test func `a search ends with its culprit: with 1 % of bad tokens and no names there are few copies of each`()
        async
    {
        let courses = await Counterexample(names: 600, culprits: 6) { schedule, culprits in
            schedule.rules.hidesIdentifier = true
            for culprit in culprits { schedule.rules.bad[culprit] = 8 }
        }.courses()
        for course in courses {
            #expect(course.fault == nil && course.silentlyLost.isEmpty && course.uncertain.isEmpty, "\(course)")
            #expect(course.rejected == course.culprits, "\(course)")
        }
        #expect(courses.mean(\.copies) < 8)
        #expect(courses.mean(\.seconds) < 100)
    }

    @Test(arguments: [0, 20] as [Int64])
    func `poison is found by halving: 300 notifications take less than a minute`(milliseconds: Int64) async {
        let courses = await Counterexample { schedule, culprits in
            schedule.errorDelays = .milliseconds(milliseconds) ... .milliseconds(milliseconds)
            schedule.rules.poison = Set(culprits)
        }.courses()
        for course in courses {
            #expect(course.fault == nil && course.lost.isEmpty && course.uncertain == course.culprits, "\(course)")
        }
        #expect(courses.mean(\.seconds) < 45)
        #expect(courses.mean(\.copies) < 12)
    }

    @Test(arguments: [(0.01, 5), (0.1, 5), (0.2, 6)])
    func `named errors cost few copies of each, however many tokens are bad`(share: Double, most: Double) async {
        let names: UInt32 = 600
        let courses = await Counterexample(names: names, culprits: Int(Double(names) * share)) { schedule, culprits in
            for culprit in culprits { schedule.rules.bad[culprit] = 8 }
        }.courses()
        for course in courses {
            #expect(course.fault == nil && course.lost.isEmpty && course.uncertain.isEmpty, "\(course)")
            #expect(course.rejected == course.culprits && course.deliveries == 1, "\(course)")
        }
        let accepted = Double(names) * (1 - share)
        #expect(courses.mean { ($0.copies * Double(names) - Double(names)) / accepted } < most)
    }
}
