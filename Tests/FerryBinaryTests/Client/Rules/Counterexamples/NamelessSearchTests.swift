import FerryBinary
import FerryCore
import NIOCore
import Testing

@testable import FerryBinaryWorld

/// Searches among many culprits that the gateway refuses without their names.
@Suite struct NamelessSearchTests {
    /// Which notifications are bad.
    enum Place: CaseIterable {
        case anywhere
        case neighbours
        case firstAndLast
        case all
    }

    /// The gateway refuses `culprits` with status 8 and identifier 0.
    private func refuse(_ culprits: [UInt32], _ schedule: inout World.Schedule, after milliseconds: Int64 = 20) {
        schedule.errorDelays = .milliseconds(milliseconds) ... .milliseconds(milliseconds)
        schedule.rules.hidesIdentifier = true
        for culprit in culprits { schedule.rules.bad[culprit] = 8 }
    }

    @Test func `ten bad of 1,000 without names are found within 30 s, and nothing is contradicted`() async {
        let courses = await Counterexample(names: 1000, culprits: 10, roundTrips: 1...1) { schedule, culprits in
            self.refuse(culprits, &schedule)
        }.courses()
        for course in courses {
            #expect(course.fault == nil && course.lost.isEmpty && course.uncertain.isEmpty, "\(course)")
            #expect(course.rejected == course.culprits && course.contradicted == 0, "\(course)")
        }
        #expect(courses.mean(\.seconds) < 30)
        #expect(courses.mean(\.copies) < 5)
    }

    @Test(arguments: Place.allCases)
    func `wherever the culprits are, each is found and no other is blamed`(place: Place) async {
        let names: UInt32 = 60
        let courses = await Counterexample(names: names, roundTrips: 1...1) { schedule, culprits in
            let bad: [UInt32] =
                switch place {
                case .anywhere: culprits
                case .neighbours: [29, 30]
                case .firstAndLast: [0, names - 1]
                case .all: Array(0..<names)
                }
            self.refuse(bad, &schedule)
        }.courses()
        for course in courses {
            let bad: [UInt32] =
                switch place {
                case .anywhere: course.culprits
                case .neighbours: [29, 30]
                case .firstAndLast: [0, names - 1]
                case .all: Array(0..<names)
                }
            #expect(course.fault == nil && course.lost.isEmpty && course.uncertain.isEmpty, "\(course)")
            #expect(course.rejected == bad && course.contradicted == 0, "\(course)")
        }
    }

    /// Probes of such gateways say nothing, so the search goes on with silence.
    @Test(arguments: [.none, .reset, .nameless(5), .nameless(8)] as [ReferenceGateway.ProbeAnswer])
    func `a gateway whose answer to a probe says nothing costs no more than a search by silence`(
        answer: ReferenceGateway.ProbeAnswer
    ) async {
        let courses = await Counterexample(culprits: 2, roundTrips: 1...1) { schedule, culprits in
            self.refuse(culprits, &schedule)
            schedule.rules.probeAnswer = answer
        }.courses()
        for course in courses {
            #expect(course.fault == nil && course.silentlyLost.isEmpty && course.uncertain.isEmpty, "\(course)")
            #expect(course.rejected == course.culprits, "\(course)")
        }
        #expect(courses.mean(\.seconds) < 100)
    }

    @Test(arguments: [20, 300] as [Int64])
    func `a search confirms nothing by a probe that overtakes an error`(milliseconds: Int64) async {
        let courses = await Counterexample(culprits: 3, roundTrips: 1...1) { schedule, culprits in
            self.refuse(culprits, &schedule, after: milliseconds)
            schedule.rules.probeAnswer = .overtaking
        }.courses()
        for course in courses {
            #expect(course.fault == nil && course.lost.isEmpty && course.uncertain.isEmpty, "\(course)")
            #expect(course.rejected == course.culprits, "\(course)")
        }
    }

    @Test(arguments: [1000, 2000] as [Int64])
    func `a gateway that is late and names nothing loses nobody`(milliseconds: Int64) async {
        let courses = await Counterexample(culprits: 3, roundTrips: 1...1) { schedule, culprits in
            self.refuse(culprits, &schedule, after: milliseconds)
        }.courses()
        for course in courses {
            #expect(course.fault == nil && course.silentlyLost.isEmpty && course.uncertain.isEmpty, "\(course)")
            #expect(course.rejected == course.culprits, "\(course)")
        }
    }

    /// The table of `Docs/design`. `FERRY_SEARCH_TABLE` prints it.
    @Test(.enabled(if: ScheduleTests.environment["FERRY_SEARCH_TABLE"] != nil))
    func `the cost of a search`() async {
        let rows: [(names: UInt32, culprits: Int, delay: Int64, answer: ReferenceGateway.ProbeAnswer)] = [
            (2000, 1, 20, .inOrder), (2000, 10, 20, .inOrder), (2000, 100, 20, .inOrder), (20_000, 10, 20, .inOrder),
            (2000, 10, 20, .nameless(8)), (2000, 10, 20, .none), (2000, 10, 20, .reset),
            (2000, 10, 1000, .inOrder), (2000, 10, 2000, .inOrder),
        ]
        let only = ScheduleTests.environment["FERRY_SEARCH_TABLE"].flatMap(Int.init) ?? -1
        for (index, row) in rows.enumerated() where only < 0 || only == index {
            let courses = await Counterexample(names: row.names, culprits: row.culprits, roundTrips: 1...1) {
                self.refuse($1, &$0, after: row.delay)
                $0.rules.probeAnswer = row.answer
            }.courses()
            let copies = courses.mean(\.copies) * Double(row.names) - Double(row.names)
            print(row, "seconds", courses.mean(\.seconds), "connections", courses.mean(\.connections))
            print("copies", copies, "doubled", courses.mean(\.doubled), "contradicted", courses.mean(\.contradicted))
            for course in courses {
                #expect(course.fault == nil && course.silentlyLost.isEmpty, "\(course)")
            }
        }
    }
}
