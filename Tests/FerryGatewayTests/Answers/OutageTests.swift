import NIOCore
import Testing

@testable import FerryGateway

@Suite struct OutageTests {
    private static let start = NIODeadline.uptimeNanoseconds(1_000_000_000)

    /// Notes a fault for each of these devices, and returns whether one of them makes an outage known.
    private static func fail(_ outage: inout Outage, _ devices: UInt8..., after time: TimeAmount = .zero) -> Bool {
        var isSaid = false
        for device in devices where outage.failed([device], now: Self.start + time) { isSaid = true }
        return isSaid
    }

    @Test func `nothing but faults for ten seconds is an outage, said once, and over with the next answer`() {
        var outage = Outage()
        let said = [.zero, .seconds(9), Outage.patience, .minutes(1)].map { Self.fail(&outage, 1, 2, 3, after: $0) }
        #expect(said == [false, false, true, false])
        let over = [outage.answered(), outage.answered()]
        #expect(over == [true, false])
    }

    @Test(arguments: [[1], [1, 2]] as [[UInt8]])
    func `the faults of one or two devices are no outage, for however long they last`(devices: [UInt8]) {
        var outage = Outage()
        for second: Int64 in 0..<3600 {
            for device in devices {
                let isSaid = outage.failed([device], now: Self.start + .seconds(second))
                #expect(!isSaid)
            }
        }
        #expect(!outage.isOn)
    }

    @Test func `the ten seconds begin with the third device, however long the others have failed`() {
        var outage = Outage()
        let said = [
            Self.fail(&outage, 1), Self.fail(&outage, 2, after: .hours(1)), Self.fail(&outage, 3, after: .hours(2)),
            Self.fail(&outage, 3, after: .hours(2) + .seconds(9)),
            Self.fail(&outage, 3, after: .hours(2) + Outage.patience),
        ]
        #expect(said == [false, false, false, false, true])
    }

    @Test func `another answer takes back what the devices before it have shown`() {
        var outage = Outage()
        var said = [Self.fail(&outage, 1, 2)]
        let isOver = outage.answered()
        said.append(Self.fail(&outage, 3))
        said.append(Self.fail(&outage, 3, after: .minutes(1)))
        #expect(said == [false, false, false])
        #expect(!isOver && !outage.isOn)
    }

    @Test func `faults between other answers are no outage`() {
        var outage = Outage()
        for second: Int64 in 0..<100 {
            let isSaid = Self.fail(&outage, 1, 2, 3, after: .seconds(second))
            let isOver = outage.answered()
            #expect(!isSaid && !isOver)
        }
    }
}
