import NIOCore
import Testing

@testable import FerryGateway

@Suite struct OutageTests {
    private static let start = NIODeadline.uptimeNanoseconds(1_000_000_000)

    @Test func `nothing but faults for ten seconds is an outage, said once, and over with the next answer`() {
        var outage = Outage()
        let said = [.zero, .seconds(9), Outage.patience, .minutes(1)].map { outage.failed(now: Self.start + $0) }
        #expect(said == [false, false, true, false])
        let over = [outage.answered(), outage.answered()]
        #expect(over == [true, false])
    }

    @Test func `faults between other answers are no outage`() {
        var outage = Outage()
        for second: Int64 in 0..<100 {
            let isSaid = outage.failed(now: Self.start + .seconds(second))
            let isOver = outage.answered()
            #expect(!isSaid && !isOver)
        }
    }
}
