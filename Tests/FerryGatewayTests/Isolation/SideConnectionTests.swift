import NIOCore
import Testing

@testable import FerryGateway

@Suite struct SideConnectionTests {
    private static let start = NIODeadline.uptimeNanoseconds(1_000_000_000_000)

    /// Sends as many as there is room for, all of which get this verdict, until `count` are sent or it takes nothing more.
    private static func send(
        _ count: Int,
        _ verdict: Verdict,
        _ side: inout SideConnection,
        now: NIODeadline
    ) -> Int {
        var sent = 0
        guard let number = side.number else { return 0 }
        while side.number == number, sent < count {
            let room = min(side.room, count - sent)
            for _ in 0..<room { side.wentOut() }
            sent += room
            for _ in 0..<room { side.returned(number, verdict, now: now) }
        }
        return sent
    }

    @Test func `no more are under way than the budget leaves`() {
        var side = SideConnection()
        #expect(side.room == 0)
        side.dial(now: Self.start)
        let number = side.number ?? 0
        #expect(side.room == Credit.floor)
        _ = Self.send(20, .taken, &side, now: Self.start)
        #expect(side.room == Credit.floor + 20)
        _ = Self.send(100, .taken, &side, now: Self.start)
        // The budget is charged with what is under way, and with refusals.
        #expect(side.room == SideBudget.first)
        for _ in 0..<SideBudget.first { side.wentOut() }
        #expect(side.room == 0)
        for index in 0..<SideBudget.first {
            side.returned(number, index % 2 == 0 ? .countable : .taken, now: Self.start)
        }
        #expect(side.room == SideBudget.first / 2)
    }

    @Test func `after three quarters of the budget it takes nothing, and is closed when its answers are in`() {
        var side = SideConnection()
        side.dial(now: Self.start)
        let number = side.number ?? 0
        _ = Self.send(100, .taken, &side, now: Self.start)
        for _ in 0..<40 { side.wentOut() }
        for _ in 0..<37 { side.returned(number, .countable, now: Self.start) }
        #expect(side.number == nil && side.room == 0)
        #expect(side.takeEnded().isEmpty)
        for _ in 0..<3 { side.returned(number, .taken, now: Self.start) }
        #expect(side.takeEnded() == [number])
        #expect(side.takeEnded().isEmpty)
        side.dial(now: Self.start + DialPace.pause)
        #expect(side.number == number + 1)
    }

    @Test func `a late answer on one connection does not keep the next from being opened, but a second one does`() {
        var side = SideConnection()
        var now = Self.start
        for number in UInt64(1)...2 {
            side.dial(now: now)
            #expect(side.number == number)
            side.wentOut()
            _ = Self.send(.max, .countable, &side, now: now)
            #expect(side.number == nil && side.takeEnded().isEmpty)
            now = now + .minutes(1)
        }
        side.dial(now: now)
        #expect(side.number == nil && side.dialAt == nil)
        side.returned(1, .taken, now: now)
        #expect(side.takeEnded() == [1])
        side.dial(now: now + .seconds(10))
        #expect(side.number == 3)
    }

    @Test func `when late answers keep every place, the oldest connection is given up for the next`() {
        var side = SideConnection()
        var (now, numbers) = (Self.start, [UInt64]())
        while side.dialAt != nil, numbers.count < 100 {
            side.dial(now: now)
            numbers.append(side.number ?? 0)
            // One answer stays away.
            side.wentOut()
            _ = Self.send(.max, .countable, &side, now: now)
            now = now + .seconds(10)
            for _ in 0..<2 { side.tick(isWanted: false) }
        }
        #expect(numbers.count == SideConnection.closingLimit + SideConnection.lateLimit + 1)
        #expect(side.takeEnded().isEmpty)
        side.tick(isWanted: true)
        #expect(side.takeEnded() == [numbers[0]])
        side.dial(now: now)
        #expect(side.number != nil)
        // Its answer comes after all.
        side.returned(numbers[0], .taken, now: now)
        #expect(side.takeEnded().isEmpty)
    }

    @Test func `a budget that was used grows, and one that APNs cut stays small for a day`() {
        var side = SideConnection()
        var now = Self.start
        side.dial(now: now)
        // Three quarters of 50, and then of 60.
        for expected in [37, 45] {
            #expect((expected..<expected + Credit.floor).contains(Self.send(.max, .countable, &side, now: now)))
            now = now + .seconds(10)
            side.dial(now: now)
        }
        let number = side.number ?? 0
        _ = Self.send(20, .countable, &side, now: now)
        side.lost(number, now: now)
        // Half of what it took, and for a day never more than three quarters of it.
        for expected in [10, 15, 15, 15] {
            now = now + .seconds(10)
            side.dial(now: now)
            _ = Self.send(100, .taken, &side, now: now)
            #expect(side.room == expected)
            _ = Self.send(.max, .countable, &side, now: now)
        }
        now = now + .hours(25)
        side.dial(now: now)
        _ = Self.send(.max, .countable, &side, now: now)
        now = now + .seconds(10)
        side.dial(now: now)
        _ = Self.send(100, .taken, &side, now: now)
        #expect(side.room == 25)
    }

    @Test func `a connection that ends long after a refusal was not closed for it`() {
        var side = SideConnection()
        side.dial(now: Self.start)
        let number = side.number ?? 0
        for verdict in [Verdict.countable] + Array(repeating: .taken, count: 20) {
            side.wentOut()
            side.returned(number, verdict, now: Self.start)
        }
        side.lost(number, now: Self.start)
        side.dial(now: Self.start + .seconds(10))
        _ = Self.send(100, .taken, &side, now: Self.start)
        #expect(side.room == SideBudget.first)
    }

    @Test func `one a second is dialled, and later every two seconds`() {
        var (pace, now, times) = (DialPace(), Self.start, 0)
        func count(_ time: TimeAmount) -> Int {
            let (end, before) = (now + time, times)
            while now < end {
                if pace.nextAt <= now {
                    pace.dialled(now: now)
                    pace.ended(answers: 100)
                    times += 1
                }
                now = now + .milliseconds(100)
            }
            return times - before
        }
        let first = count(.minutes(1))
        #expect(first == 60)
        _ = count(.minutes(5))
        let late = count(.minutes(2))
        #expect(late == 60)
    }

    @Test func `connections of little use are dialled less often`() {
        var (pace, now) = (DialPace(), Self.start)
        var pauses: [Int64] = []
        for answers in [5, 5, 5, 5, 20] {
            pace.dialled(now: now)
            pace.ended(answers: answers)
            pauses.append((pace.nextAt - now).nanoseconds / 1_000_000_000)
            now = pace.nextAt
        }
        #expect(pauses == [2, 4, 8, 8, 1])
    }
}
