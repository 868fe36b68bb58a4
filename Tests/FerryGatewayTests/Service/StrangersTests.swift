import NIOCore
import NIOEmbedded
import Testing

@testable import FerryGateway

@Suite struct StrangersTests {
    private let eventLoop = EmbeddedEventLoop()

    @Test func `a client keeps its place if the listener was full for a moment`() {
        let strangers = Strangers(on: self.eventLoop)
        var closed = 0
        _ = strangers.begin(.silent) { closed += 1 }
        strangers.placeIsWanted(true)
        self.eventLoop.advanceTime(by: .seconds(3))
        strangers.placeIsWanted(false)
        self.eventLoop.advanceTime(by: .minutes(5))
        #expect(closed == 0)
        strangers.placeIsWanted(true)
        self.eventLoop.advanceTime(by: .zero)
        #expect(closed == 1)
    }

    @Test func `a handshake that begins later has its own moment, and costs no other client its place`() {
        let strangers = Strangers(on: self.eventLoop)
        var closed: [String] = []
        _ = strangers.begin(.silent) { closed.append("silent") }
        strangers.placeIsWanted(true)
        self.eventLoop.advanceTime(by: .seconds(10))
        _ = strangers.begin(.handshaking) { closed.append("handshaking") }
        self.eventLoop.advanceTime(by: .milliseconds(999))
        #expect(closed.isEmpty)
        self.eventLoop.advanceTime(by: .milliseconds(1))
        #expect(closed == ["handshaking"])
        // Its close takes a moment.
        self.eventLoop.advanceTime(by: .minutes(5))
        #expect(closed == ["handshaking"])
    }

    @Test func `a timer that comes too early sets the next one`() {
        let strangers = Strangers(on: self.eventLoop)
        var closed: [Int] = []
        let first = strangers.begin(.silent) { closed.append(1) }
        strangers.placeIsWanted(true)
        self.eventLoop.advanceTime(by: .seconds(30))
        _ = strangers.begin(.silent) { closed.append(2) }
        strangers.end(first)
        self.eventLoop.advanceTime(by: .seconds(59))
        #expect(closed.isEmpty)
        self.eventLoop.advanceTime(by: .seconds(1))
        #expect(closed == [2])
    }
}
