import NIOCore
import Testing

@testable import FerryHTTP2

@Suite struct PingMachineTests {
    private let start = NIODeadline.uptimeNanoseconds(1_000_000_000)
    private var ping: PingMachine

    init() {
        self.ping = PingMachine(interval: .seconds(60), now: self.start)
    }

    private mutating func tick(_ seconds: Int64...) -> [PingMachine.TickAction] {
        seconds.map { self.ping.tick(now: self.start + .seconds($0)) }
    }

    @Test mutating func `a quiet connection is asked once, and has ten seconds to answer`() {
        let deadline = self.ping.deadline
        let actions = self.tick(59, 60, 69, 70, 71)
        #expect(deadline == self.start + .seconds(60))
        #expect(actions == [.nothing, .ping, .nothing, .drop, .nothing])
        #expect(self.ping.deadline == nil)
    }

    @Test mutating func `bytes put the PING off, and are no answer to it`() {
        self.ping.used(now: self.start + .seconds(30))
        let before = self.tick(60, 90)
        #expect(before == [.nothing, .ping])
        self.ping.used(now: self.start + .seconds(95))
        #expect(self.ping.deadline == self.start + .seconds(100))
        let after = self.tick(100)
        #expect(after == [.drop])
    }

    @Test mutating func `after an answer the connection may be quiet for as long again`() {
        let actions = self.tick(60)
        #expect(actions == [.ping])
        self.ping.answered(now: self.start + .seconds(61))
        #expect(self.ping.deadline == self.start + .seconds(121))
    }
}
