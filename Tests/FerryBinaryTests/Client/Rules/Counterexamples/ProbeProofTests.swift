import FerryBinary
import FerryCore
import NIOCore
import Testing

@testable import FerryBinaryWorld

/// The limits of the proof by a probe.
@Suite struct ProbeProofTests {
    /// A probe immediately after the notifications would turn every close into one after a probe, and then nothing is
    /// sent again.
    @Test(arguments: [true, false])
    func `a gateway that closes on a bad notification costs that one, and the others arrive`(isPoison: Bool) async {
        let courses = await Counterexample { schedule, culprits in
            if isPoison {
                schedule.rules.poison = Set(culprits)
            } else {
                schedule.rules.bad[culprits[0]] = 8
                schedule.rules.responseLength = 0
            }
        }.courses()
        for course in courses {
            #expect(course.fault == nil && course.lost.isEmpty && course.rejected.isEmpty, "\(course)")
            #expect(course.uncertain == course.culprits, "\(course)")
        }
    }

    /// The delay must be within the settle time: no wait that is shorter than the delay could help.
    @Test func `a probe whose answer overtakes an error within the settle time confirms nothing that was not taken`()
        async
    {
        let courses = await Counterexample { schedule, culprits in
            schedule.errorDelays = .milliseconds(300) ... .milliseconds(300)
            schedule.rules.probeAnswer = .overtaking
            schedule.rules.bad[culprits[0]] = 8
        }.courses()
        for course in courses {
            #expect(course.fault == nil && course.lost.isEmpty && course.uncertain.isEmpty, "\(course)")
            #expect(course.rejected == course.culprits, "\(course)")
        }
    }

    @Test(arguments: [ReferenceGateway.ProbeAnswer.reset, .none])
    func `a gateway that does not answer a probe leaves what silence had earned`(
        answer: ReferenceGateway.ProbeAnswer
    ) async {
        let courses = await Counterexample { schedule, culprits in
            schedule.errorDelays = .milliseconds(300) ... .milliseconds(300)
            schedule.rules.probeAnswer = answer
            schedule.rules.bad[culprits[0]] = 8
        }.courses()
        for course in courses {
            #expect(course.fault == nil && course.lost.isEmpty && course.uncertain.isEmpty, "\(course)")
            #expect(course.rejected == course.culprits && course.deliveries == 1, "\(course)")
        }
    }

    /// A gateway refuses a token with status 5 and without an identifier. So that response answers no probe.
    @Test(arguments: [Proof.automatic, .probe])
    func `status 5 with identifier 0 confirms nothing`(proof: Proof) async {
        let courses = await Counterexample(proof: proof) { schedule, culprits in
            schedule.errorDelays = .milliseconds(300) ... .milliseconds(300)
            schedule.rules.hidesIdentifier = true
            schedule.rules.bad[culprits[0]] = 5
        }.courses()
        for course in courses {
            #expect(course.fault == nil && course.silentlyLost.isEmpty, "\(course)")
            #expect(course.rejected.isEmpty || course.rejected == course.culprits, "\(course)")
        }
        #expect(courses.mean(\.lost.count) <= 2)
    }

    @Test(arguments: [true, false])
    func `a probe that is answered without a name, as a bad notification is, blames nobody`(hasCulprit: Bool) async {
        let courses = await Counterexample(culprits: hasCulprit ? 1 : 0) { schedule, culprits in
            schedule.rules.hidesIdentifier = true
            schedule.rules.probeAnswer = .nameless(8)
            for culprit in culprits { schedule.rules.bad[culprit] = 8 }
        }.courses()
        for course in courses {
            #expect(course.fault == nil && course.silentlyLost.isEmpty && course.uncertain.isEmpty, "\(course)")
            #expect(course.rejected == course.culprits, "\(course)")
        }
        if !hasCulprit { #expect(courses.mean(\.deliveries) <= 3) }
    }
}
