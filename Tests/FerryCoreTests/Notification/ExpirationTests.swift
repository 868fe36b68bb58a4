import FerryCore
import Foundation
import Testing

@Suite struct ExpirationTests {
    @Test func `Once means zero`() {
        #expect(Expiration.once.epochSeconds == 0)
    }

    @Test func `Seconds of 32 bits are taken`() throws {
        #expect(try Expiration(validating: 0) == .once)
        #expect(try Expiration(validating: 4_294_967_295).epochSeconds == .max)
    }

    @Test(arguments: [-1, 4_294_967_296, .min, .max] as [Int64])
    func `Seconds beyond 32 bits are refused`(seconds: Int64) {
        let error = #expect(throws: PushValidationError.self) { try Expiration(validating: seconds) }
        #expect(error?.faults.map(\.code) == [.badExpiration])
    }

    @Test func `After a duration is never too early and at most a second late`() {
        let before = Date().timeIntervalSince1970
        let seconds = Double(Expiration.after(.milliseconds(90_500)).epochSeconds)
        let after = Date().timeIntervalSince1970
        #expect(seconds >= before + 90.5)
        #expect(seconds < after + 91.5)
    }

    @Test func `The range is not left, however long the duration`() {
        #expect(Expiration.after(.seconds(Int64.max)).epochSeconds == .max)
        #expect(Expiration.after(.seconds(Int64.min)).epochSeconds == 1)
    }

    @Test func `A date is rounded up to a whole second`() {
        #expect(Expiration.at(Date(timeIntervalSince1970: 1_700_000_000.25)).epochSeconds == 1_700_000_001)
        #expect(Expiration.at(.distantFuture).epochSeconds == .max)
    }

    @Test(arguments: [-1e12, 0, Double.nan])
    func `A date that has passed never means once`(seconds: Double) {
        #expect(Expiration.at(Date(timeIntervalSince1970: seconds)).epochSeconds == 1)
    }
}
