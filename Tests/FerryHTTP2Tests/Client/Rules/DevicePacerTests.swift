import NIOCore
import Testing

@testable import FerryHTTP2

struct DevicePacerTests {
    @Test func `a pacer that is full lets other devices through, and has room again when its devices had their turn`() {
        let start = NIODeadline.uptimeNanoseconds(1_000_000_000_000)
        var pacer = DevicePacer(.seconds(60))
        func isNow(_ device: UInt32, _ now: NIODeadline) -> Bool {
            if case .now = pacer.take(device, before: .distantFuture, now: now) { true } else { false }
        }
        let limit = UInt32(DevicePacer.limit)
        #expect((0..<limit).allSatisfy { isNow($0, start) })
        // A search through all remembered devices for each of these would take hours.
        #expect((limit..<limit + 100_000).allSatisfy { isNow($0, start) })
        #expect(isNow(limit, start))
        #expect(!isNow(0, start))

        let later = start + .seconds(200)
        #expect(isNow(limit, later))
        #expect(!isNow(limit, later))
    }
}
