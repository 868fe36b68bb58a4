import FerryCore
import Foundation
import Testing

@Suite struct DateTests {
    @Test(arguments: [0, 1, 1_437_179_036_123, 253_402_300_799_999, -62_135_596_800_000] as [Int64])
    func `milliseconds stay exact`(milliseconds: Int64) {
        #expect(Date(unixMilliseconds: milliseconds).unixMilliseconds == milliseconds)
    }

    @Test func `seconds are rounded down`() {
        #expect(Date(unixMilliseconds: 1_999).unixSeconds == 1)
        #expect(Date(unixMilliseconds: -1).unixSeconds == -1)
    }

    @Test(arguments: [Double.infinity, -.infinity, .nan, 1e300, -1e300])
    func `a date that no clock shows is brought into the years 1 to 9999`(seconds: Double) {
        let date = Date(timeIntervalSince1970: seconds)
        #expect(-62_135_596_800...253_402_300_799 ~= date.unixSeconds)
        #expect(-62_135_596_800_000...253_402_300_799_999 ~= date.unixMilliseconds)
    }
}
