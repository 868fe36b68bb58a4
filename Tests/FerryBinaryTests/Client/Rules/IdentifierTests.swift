import FerryBinary
import FerryMachine
import Testing

@Suite struct IdentifierTests {
    @Test func `identifiers begin at 1, skip 0 at the wrap and never repeat within a period`() {
        let period = UInt64(UInt32.max)
        #expect(Identifier.of(0) == 1)
        #expect(Identifier.of(period - 1) == .max)
        #expect(Identifier.of(period) == 1)
        #expect(Identifier.of(UInt64.max) != 0)
        for sequence in [0, period - 2, period - 1, period, 3 * period - 1, 1 << 40] {
            #expect(Identifier.of(sequence) != 0)
        }
    }

    @Test func `an error response across the wrap names the right notification`() {
        for offset in 1...12 as ClosedRange<UInt64> {
            let scenario = Scenario { $0.firstSequence = UInt64(UInt32.max) - offset }
            scenario.open(1...20)
            #expect(scenario.frames.allSatisfy { $0.identifier != 0 })
            #expect(Set(scenario.frames.map(\.identifier)).count == 20)
            scenario.respond(8, to: 11)
            #expect(scenario.all(1...10, are: .confirmed))
            #expect(scenario[11] == .rejected(8))
            scenario.connect()
            #expect(scenario.send() == Array(12...20))
        }
    }

    @Test func `each connection begins its own sequence`() {
        let scenario = Scenario()
        scenario.open(1...3)
        scenario.respond(8, to: 2)
        scenario.connect()
        scenario.send()
        #expect(scenario.frames.map(\.identifier) == [1, 2, 3, 1])
    }

    @Test(arguments: [0, 4, .max] as [UInt32])
    func `an identifier that was not issued names nothing`(identifier: UInt32) {
        let scenario = Scenario()
        scenario.open(1...3)
        scenario.respond(8, identifier: identifier)
        #expect(scenario.outcomes.isEmpty)
    }
}
