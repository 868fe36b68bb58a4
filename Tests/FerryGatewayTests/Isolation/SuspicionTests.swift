import NIOCore
import Testing

@testable import FerryGateway

@Suite struct SuspicionTests {
    private static let start = NIODeadline.uptimeNanoseconds(1_000_000_000_000)

    /// Returns how many notifications APNs has to take in a row until the client is trusted.
    private static func trust(_ suspicion: inout Suspicion, now: NIODeadline) -> Int {
        var count = 0
        while suspicion.isSuspicious, count < 10_000 {
            _ = suspicion.answered(.taken, now: now)
            count += 1
        }
        return count
    }

    private static func suspect(_ suspicion: inout Suspicion, now: NIODeadline) {
        for _ in 0..<Suspicion.refusals { _ = suspicion.answered(.countable, now: now) }
    }

    @Test func `four refusals among eight answers are suspicious, four among nine are not`() {
        for (others, isSuspicious) in [(4, true), (5, false)] {
            var suspicion = Suspicion()
            _ = suspicion.answered(.countable, now: Self.start)
            for _ in 0..<others { _ = suspicion.answered(.taken, now: Self.start) }
            for _ in 0..<3 { _ = suspicion.answered(.countable, now: Self.start) }
            #expect(suspicion.isSuspicious == isSuspicious)
        }
    }

    @Test func `answers that say nothing of a token do not hide refusals`() {
        var suspicion = Suspicion()
        var changes = 0
        for _ in 0..<Suspicion.refusals {
            for _ in 0..<20 { _ = suspicion.answered(.other, now: Self.start) }
            if suspicion.answered(.countable, now: Self.start) { changes += 1 }
        }
        #expect(suspicion.isSuspicious && changes == 1)
    }

    @Test func `each return needs twice as many answers, and a refusal begins the count again`() {
        var suspicion = Suspicion()
        for expected in [128, 256, 512, 1024, 2048, 4096, 4096] {
            Self.suspect(&suspicion, now: Self.start)
            for _ in 0..<100 { _ = suspicion.answered(.taken, now: Self.start) }
            _ = suspicion.answered(.countable, now: Self.start)
            #expect(Self.trust(&suspicion, now: Self.start) == expected)
        }
    }

    @Test func `days without suspicion are forgiven`() {
        var suspicion = Suspicion()
        for _ in 0..<5 {
            Self.suspect(&suspicion, now: Self.start)
            _ = Self.trust(&suspicion, now: Self.start)
        }
        let later = Self.start + .hours(49)
        Self.suspect(&suspicion, now: later)
        #expect(Self.trust(&suspicion, now: later) == 1024)
    }
}
