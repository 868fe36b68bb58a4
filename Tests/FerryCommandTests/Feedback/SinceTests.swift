import Foundation
import Testing

@testable import FerryCommand

@Suite struct SinceTests {
    @Test(
        arguments: [
            ("0", 0), ("1585656000", 1_585_656_000), ("4294967295", .max),
            ("2020-03-31", 1_585_612_800), ("2020-03-31T12:00:00Z", 1_585_656_000),
            ("2020-03-31T12:00:00", 1_585_656_000), ("2020-03-31T12:00:00+02:00", 1_585_648_800),
            ("2020-03-31T12:00:00.5Z", 1_585_656_001),
        ] as [(String, UInt32)]
    )
    func `a day, a time and UNIX seconds are read`(text: String, seconds: UInt32) {
        #expect(Since(argument: text)?.date == Date(timeIntervalSince1970: Double(seconds)))
    }

    @Test(arguments: ["", "yesterday", "-1", "4294967296", "2020-13-01", "2020-3", "1969-12-31", "2200-01-01"])
    func `what is none of them is refused`(text: String) {
        #expect(Since(argument: text) == nil)
    }
}
