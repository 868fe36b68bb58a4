import NIOCore
import Testing

@testable import FerryGateway

@Suite struct FeedbackEndingTests {
    private let start = NIODeadline.uptimeNanoseconds(1_000_000_000)

    @Test func `the end follows the last acknowledgement after a pause`() {
        var ending = FeedbackEnding(rows: 1)
        #expect(ending.written(now: self.start) == .look(at: self.start))
        #expect(
            ending.looked(false, roundTrip: .milliseconds(20), now: self.start)
                == .look(at: self.start + FeedbackEnding.look)
        )
        let now = self.start + .seconds(2)
        let end = now + FeedbackEnding.pause + FeedbackEnding.pauseOfRow + .milliseconds(20)
        #expect(ending.looked(true, roundTrip: .milliseconds(20), now: now) == .wait(until: end))
        #expect(ending.timePassed(now: end - .nanoseconds(1)) == .none)
        #expect(ending.timePassed(now: end) == .end)
        #expect(ending.timePassed(now: end) == .none)
    }

    @Test func `more rows get a longer pause, which has a bound`() {
        var pauses: [TimeAmount] = []
        for rows in [1, 100, 1_000_000] {
            var ending = FeedbackEnding(rows: rows)
            _ = ending.written(now: self.start)
            guard case .wait(let until) = ending.looked(true, roundTrip: .zero, now: self.start) else { continue }
            pauses.append(until - self.start)
        }
        #expect(pauses == [.milliseconds(205), .milliseconds(700), FeedbackEnding.longestPause])
    }
}
