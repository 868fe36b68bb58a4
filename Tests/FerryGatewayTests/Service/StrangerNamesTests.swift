import NIOCore
import Testing

@testable import FerryGateway

@Suite struct StrangerNamesTests {
    private static let start = NIODeadline.uptimeNanoseconds(1_000_000_000_000)
    private var strangers = StrangerNames()

    @Test mutating func `a refused address is named once a minute for each reason`() {
        var names: [String?] = []
        for (reason, seconds) in [("a", 0), ("a", 59), ("b", 59), ("a", 60)] as [(String, Int64)] {
            names.append(self.strangers.name("192.0.2.1", refusedFor: reason, now: Self.start + .seconds(seconds)))
        }
        #expect(names == ["a", nil, "b", "a"])
    }

    @Test mutating func `a reason has a bound in bytes`() {
        let letter = "a" + String(repeating: "\u{301}", count: 14_000)
        let reason = self.strangers.name("192.0.2.1", refusedFor: letter, now: Self.start)
        #expect(reason.map { 990...1000 ~= $0.utf8.count } == true)
    }

    @Test mutating func `a monitor is named once, and one that says it is ferry doctor once an hour`() {
        var names: [Bool] = []
        for (check, minutes) in [(.connection, 0), (.doctor, 0), (.doctor, 59), (.doctor, 60), (.connection, 600)]
            as [(GatewayEvent.Check, Int64)]
        {
            names.append(self.strangers.names("192.0.2.1", for: check, now: Self.start + .minutes(minutes)))
        }
        #expect(names == [true, true, false, true, false])
    }

    @Test mutating func `addresses beyond the limit are not named, and memory is bounded`() {
        var (refusals, checks) = (0, 0)
        for number in 0..<3000 {
            let address = "address \(number)"
            if self.strangers.name(address, refusedFor: "a", now: Self.start) != nil { refusals += 1 }
            if self.strangers.names(address, for: .connection, now: Self.start) { checks += 1 }
        }
        #expect(refusals == 1000 && checks == 1000)
        let later = self.strangers.name("another", refusedFor: "a", now: Self.start + .minutes(1))
        #expect(later == "a")
    }

    @Test mutating func `addresses of a day ago make room for others, and those that still come do not`() {
        for number in 0..<1000 { _ = self.strangers.names("\(number)", for: .doctor, now: Self.start) }
        let (evening, day) = (Self.start + .hours(12), Self.start + .hours(24))
        for number in 0..<500 { _ = self.strangers.names("\(number)", for: .doctor, now: evening) }
        var names: [Bool] = []
        for (number, now) in [(1000, day - .seconds(1)), (1000, day), (999, day)] {
            names.append(self.strangers.names("\(number)", for: .connection, now: now))
        }
        #expect(names == [false, true, true])
        var count = 0
        for number in 2000..<3000 where self.strangers.names("\(number)", for: .connection, now: day) { count += 1 }
        #expect(count == 498)
        let isNamedAgain = self.strangers.names("2000", for: .connection, now: day + .hours(24))
        #expect(isNamedAgain)
    }
}
