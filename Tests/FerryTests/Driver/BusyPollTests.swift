@testable import Ferry
import NIOCore
import Testing

@Suite struct BusyPollTests {
    @Test func `a poll ends when there is something, or at the limit`() {
        var poll = BusyPoll()
        var looks = 0
        poll.wait(clock: { .uptimeNanoseconds(1) }) {
            looks += 1
            return looks == 3
        }
        #expect(looks == 3)
        var now = NIODeadline.uptimeNanoseconds(1)
        let start = now
        poll.wait {
            defer { now = now + .microseconds(30) }
            return now
        } until: {
            false
        }
        #expect(now >= start + BusyPoll.limit)
    }

    @Test func `a poll is left out for longer after each one without success, and a success makes up for the last`() {
        var poll = BusyPoll()
        /// Returns the number of calls until one of them looks.
        func callsToNextLook(finds: Bool) -> Int {
            var hasLooked = false
            var calls = 0
            while !hasLooked {
                calls += 1
                var now = NIODeadline.uptimeNanoseconds(1)
                poll.wait {
                    defer { now = now + BusyPoll.limit }
                    return now
                } until: {
                    hasLooked = true
                    return finds
                }
            }
            return calls
        }
        #expect((0..<5).map { _ in callsToNextLook(finds: false) } == [1, 2, 3, 5, 9])
        for _ in 0..<20 { _ = callsToNextLook(finds: false) }
        #expect(callsToNextLook(finds: true) == BusyPoll.longestPause + 1)
        #expect(callsToNextLook(finds: false) == 1)
        #expect(callsToNextLook(finds: true) == BusyPoll.longestPause + 1)
        for _ in 0..<20 { _ = callsToNextLook(finds: true) }
        #expect(callsToNextLook(finds: false) == 1)
        #expect(callsToNextLook(finds: false) == 2)
    }
}
