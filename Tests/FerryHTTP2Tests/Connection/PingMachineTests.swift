import FerryCore
import FerryMachine
import NIOCore
import Testing

@testable import FerryHTTP2

@Suite struct PingMachineTests {
    private static let limits = PingMachine.Limits(interval: .seconds(60), idle: .seconds(30), stall: nil)
    private static let start = NIODeadline.uptimeNanoseconds(1_000_000_000)
    private var ping = PingMachine(Self.limits, now: Self.moment(0))

    private static func moment(_ seconds: Double, slept: Int64 = 0) -> Moment {
        let time = Self.start + .nanoseconds(Int64(seconds * 1e9))
        return Moment(monotonic: time, epochSeconds: 0, boot: time + .seconds(slept))
    }

    private mutating func tick(_ seconds: Double..., isBusy: Bool = false) -> [PingMachine.TickAction] {
        seconds.map { self.ping.tick(now: Self.moment($0), isBusy: isBusy) }
    }

    private mutating func request(_ seconds: Double, slept: Int64 = 0) -> PingMachine.RequestAction {
        self.ping.request(now: Self.moment(seconds, slept: slept))
    }

    private mutating func isDoubtful(_ seconds: Double) -> Bool {
        _ = self.ping.tick(now: Self.moment(seconds), isBusy: false)
        return self.ping.isDoubtful
    }

    @Test mutating func `a quiet connection is asked once, and has ten seconds to answer`() {
        let deadline = self.ping.deadline(isBusy: false)
        let actions = self.tick(59, 60, 69, 70, 71)
        #expect(deadline == Self.start + .seconds(60))
        #expect(actions == [.nothing, .ping, .nothing, .drop, .nothing])
        #expect(self.ping.deadline(isBusy: false) == nil)
    }

    @Test mutating func `bytes put the PING off, and are no answer to it`() {
        self.ping.heard(now: Self.moment(20))
        let before = self.tick(60, 80)
        #expect(before == [.nothing, .ping])
        self.ping.heard(now: Self.moment(85))
        let after = self.tick(90)
        #expect(after == [.drop])
    }

    @Test mutating func `after an answer the connection may be quiet for as long again`() {
        let actions = self.tick(60)
        #expect(actions == [.ping])
        self.ping.answered(now: Self.moment(61))
        #expect(self.ping.deadline(isBusy: false) == Self.start + .seconds(121))
    }

    @Test mutating func `a request after an idle time waits for the answer to one PING`() {
        let busy = self.request(29)
        let actions = [self.request(30), self.request(30.1)]
        #expect(busy == .write)
        #expect(actions == [.ping, .wait])
        self.ping.answered(now: Self.moment(30.2))
        let after = self.request(30.3)
        #expect(after == .write)
    }

    @Test mutating func `time in which the machine slept counts as idle`() {
        let action = self.request(1, slept: 40)
        #expect(action == .ping)
    }

    @Test mutating func `bytes after an idle time prove nothing, because they may have come before it`() {
        self.ping.heard(now: Self.moment(45))
        let action = self.request(45)
        #expect(action == .ping)
    }

    @Test mutating func `an answer that waited in the socket while the machine slept proves nothing`() {
        let asked = self.request(30)
        self.ping.answered(now: Self.moment(30.1, slept: 31))
        let again = self.request(30.1, slept: 31)
        #expect([asked, again] == [.ping, .ping])
        self.ping.answered(now: Self.moment(30.2, slept: 31))
        let proven = self.request(30.2, slept: 31)
        #expect(proven == .write)
    }

    @Test mutating func `an answer that waited in the socket while the process was stopped proves nothing`() {
        let asked = self.request(30)
        self.ping.answered(now: Self.moment(91))
        let again = self.request(91)
        #expect([asked, again] == [.ping, .ping])
    }

    @Test mutating func `a PING that a busy connection sent before the machine slept must be answered first`() {
        let limits = PingMachine.Limits(interval: .seconds(60), idle: .seconds(30), stall: .seconds(6))
        self.ping = PingMachine(limits, now: Self.moment(0))
        let asked = self.tick(6, isBusy: true)
        let awake = self.request(6.1)
        let slept = self.request(6.2, slept: 31)
        #expect(asked == [.ping])
        #expect([awake, slept] == [.write, .wait])
    }

    @Test mutating func `the answer may take a second and four known round trips before the connection is doubtful`() {
        self.ping.answerTook(.milliseconds(300))
        self.ping.answerTook(.milliseconds(100))
        self.ping.answerTook(.milliseconds(200))
        _ = self.request(30)
        let before = self.isDoubtful(31.39)
        let after = self.isDoubtful(31.4)
        #expect(!before && after)
        let action = self.request(31.5)
        #expect(action == .wait)
        self.ping.answered(now: Self.moment(32))
        let isDoubtful = self.ping.isDoubtful
        #expect(!isDoubtful)
    }

    @Test mutating func `each PING is counted once, with the time of its answer`() {
        _ = self.tick(60)
        self.ping.answered(now: Self.moment(60.25))
        _ = self.tick(120.25, 130.25)
        let pings = self.ping.takePings()
        #expect(pings.sent == 2 && pings.answered == 1 && pings.unanswered == 1)
        #expect(pings.roundTrips.durations == [.milliseconds(250)])
        let news = self.ping.takePings()
        #expect(news.isEmpty)
    }

    @Test mutating func `an answer that nobody asked for is not counted`() {
        self.ping.answered(now: Self.moment(1))
        let pings = self.ping.takePings()
        #expect(pings.isEmpty)
    }

    @Test mutating func `a PING whose connection was left is unanswered, even if its answer comes late`() {
        _ = self.request(30)
        self.ping.giveUp()
        _ = self.tick(31)
        self.ping.giveUp()
        self.ping.giveUp()
        self.ping.answered(now: Self.moment(31.5))
        let late = self.ping.takePings()
        #expect(late.sent == 1 && late.answered == 0 && late.unanswered == 1)
        #expect(late.roundTrips.count == 0)
    }

    @Test mutating func `a PING whose connection was left and then dropped is unanswered once`() {
        _ = self.request(30)
        _ = self.tick(31)
        self.ping.giveUp()
        let end = self.tick(40)
        let pings = self.ping.takePings()
        #expect(end == [.drop])
        #expect(pings.sent == 1 && pings.unanswered == 1)
    }

    @Test mutating func `a busy connection is asked sooner, and takes requests for two seconds more`() {
        let limits = PingMachine.Limits(interval: .seconds(60), idle: .seconds(30), stall: .seconds(6))
        self.ping = PingMachine(limits, now: Self.moment(0))
        let idle = self.tick(6)
        let busy = self.tick(6, isBusy: true)
        #expect(idle == [.nothing] && busy == [.ping])
        let action = self.request(7)
        #expect(action == .write)
        let before = self.isDoubtful(7.9)
        let after = self.isDoubtful(8)
        #expect(!before && after)
        let end = self.tick(15.9, 16, isBusy: true)
        #expect(end == [.nothing, .drop])
    }
}
