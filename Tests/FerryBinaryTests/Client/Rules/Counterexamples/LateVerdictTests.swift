import FerryBinary
import FerryCore
import NIOCore
import Testing

@testable import FerryBinaryWorld

/// Error responses that come late, at the very end, or after others. The client must report every notification that the
/// gateway did not take.
@Suite struct LateVerdictTests {
    /// Errors without an identifier name no notification. Any notification that is presumed accepted may be the one.
    @Test(arguments: [3000...3000, 0...5000] as [ClosedRange<Int64>])
    func `a nameless error later than the settle time loses no presumed notification without a word`(
        milliseconds: ClosedRange<Int64>
    ) async {
        let courses = await Counterexample(names: 600, perSecond: 200) { schedule, culprits in
            schedule.errorDelays = .milliseconds(milliseconds.lowerBound) ... .milliseconds(milliseconds.upperBound)
            schedule.rules.hidesIdentifier = true
            schedule.rules.bad[culprits[0]] = 8
        }.courses()
        for course in courses {
            #expect(course.fault == nil && course.silentlyLost.isEmpty, "\(course)")
            #expect(course.rejected.isEmpty || course.rejected == course.culprits, "\(course)")
        }
        #expect(courses.mean(\.lost.count) <= 40)
        #expect(courses.mean(\.copies) < 15)
        #expect(courses.mean(\.seconds) < 900)
    }

    @Test(arguments: [80...80, 0...200, 0...5000] as [ClosedRange<Int64>], [1000, 5000] as [Int64])
    func `a search whose first error comes at once and whose later ones are late blames and loses nobody`(
        milliseconds: ClosedRange<Int64>,
        settleTime: Int64
    ) async {
        let courses = await Counterexample { schedule, culprits in
            schedule.options.settleTime = .milliseconds(settleTime)
            schedule.errorDelays = .milliseconds(milliseconds.lowerBound) ... .milliseconds(milliseconds.upperBound)
            schedule.isFirstErrorAtOnce = true
            schedule.rules.hidesIdentifier = true
            schedule.rules.bad[culprits[0]] = 8
        }.courses()
        for course in courses {
            #expect(course.fault == nil && course.silentlyLost.isEmpty, "\(course)")
            #expect(course.rejected.isEmpty || course.rejected == course.culprits, "\(course)")
        }
    }

    @Test(arguments: [3000...3000, 0...5000] as [ClosedRange<Int64>], [false, true])
    func `errors 3 s late at the end of a run are heard, and what they discard is sent again`(
        milliseconds: ClosedRange<Int64>,
        settlesFirst: Bool
    ) async {
        let courses = await Counterexample(settlesFirst: settlesFirst) { schedule, culprits in
            schedule.errorDelays = .milliseconds(milliseconds.lowerBound) ... .milliseconds(milliseconds.upperBound)
            schedule.rules.bad[culprits[0]] = 8
        }.courses()
        for course in courses {
            // The error names its notification, so all others arrive once.
            #expect(course.fault == nil && course.silentlyLost.isEmpty && course.uncertain.isEmpty, "\(course)")
            #expect(course.lost.isEmpty || course.lost == course.culprits, "\(course)")
            #expect(course.deliveries == 1, "\(course)")
        }
    }

    /// Such a gateway says nothing on a half-closed connection: only the probe before it brings a response.
    @Test(arguments: [3000...3000, 0...5000] as [ClosedRange<Int64>], [false, true])
    func `errors 3 s late are heard at the end of a run of a gateway that closes when the client does`(
        milliseconds: ClosedRange<Int64>,
        hidesIdentifier: Bool
    ) async {
        let courses = await Counterexample { schedule, culprits in
            schedule.errorDelays = .milliseconds(milliseconds.lowerBound) ... .milliseconds(milliseconds.upperBound)
            schedule.rules.closesAtTheEnd = true
            schedule.rules.hidesIdentifier = hidesIdentifier
            schedule.rules.bad[culprits[0]] = 8
        }.courses()
        for course in courses {
            #expect(course.fault == nil && course.silentlyLost.isEmpty && course.uncertain.isEmpty, "\(course)")
            #expect(course.rejected.isEmpty || course.rejected == course.culprits, "\(course)")
        }
    }

    /// Each error without a name makes all presumed notifications go out again, and there may be one error for each
    /// copy.
    @Test(arguments: [false, true])
    func `a gateway that judges at the end of the stream is heard, and does not keep a run from ending`(
        hidesIdentifier: Bool
    ) async {
        let courses = await Counterexample { schedule, culprits in
            schedule.rules.judging = .atTheEnd
            schedule.rules.hidesIdentifier = hidesIdentifier
            schedule.rules.bad[culprits[0]] = 8
        }.courses()
        for course in courses {
            #expect(course.fault == nil && course.silentlyLost.isEmpty, "\(course)")
            if !hidesIdentifier {
                #expect(course.lost.isEmpty || course.lost == course.culprits, "\(course)")
            }
        }
    }

    @Test func `an error response behind one with status 0 counts`() async {
        let courses = await Counterexample { schedule, culprits in
            schedule.rules.confirmsBeforeErrors = true
            schedule.rules.bad[culprits[0]] = 8
        }.courses()
        for course in courses {
            #expect(course.fault == nil && course.lost.isEmpty && course.uncertain.isEmpty, "\(course)")
            #expect(course.rejected == course.culprits && course.deliveries == 1, "\(course)")
        }
    }
}
