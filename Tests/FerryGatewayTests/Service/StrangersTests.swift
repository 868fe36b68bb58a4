import FerryBinary
import FerryOpenSSL
import FerryServer
import NIOCore
import NIOEmbedded
import NIOTLS
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

    @Test(arguments: [false, true])
    func `a connection that gives its place is named once, as that`(isFeedback: Bool) throws {
        let credentials = try ThrowAwayCA()
        let machine = try GatewayProcess.machine(MemoryStore(), now: .now) { _, _ in ReplayKey(high: 0, low: 0) }
        var events: [GatewayEvent] = []
        let driver = GatewayDriver(machine, upstreams: [], store: nil, names: ["old"], on: self.eventLoop) { event, _ in
            events.append(event)
        }
        let (strangers, doors) = (Strangers(on: self.eventLoop), OpenDoors(GatewayClients([])))
        let tls = try TLSHandler(server: TLSContext(server: .init(identity: credentials.server())))
        let handler: any ChannelHandler =
            isFeedback
            ? GatewayFeedbackHandler(driver: driver, doors: doors, strangers: strangers, tls: tls)
            : GatewayHandler(driver: driver, doors: doors, strangers: strangers, tls: tls)
        let channel = EmbeddedChannel(handlers: [SocketHandler(), tls, handler], loop: self.eventLoop)
        try channel.connect(to: SocketAddress(ipAddress: "192.0.2.1", port: 1)).wait()
        strangers.placeIsWanted(true)
        self.eventLoop.advanceTime(by: .seconds(1))
        #expect(!channel.isActive)
        #expect(events.count == 1, "\(events)")
        guard case .stranger(_, GatewayDriver.tookPlace) = events.first else {
            Issue.record("\(events)")
            return
        }
        driver.finish()
    }

    @Test(arguments: [false, true])
    func `a client that a reload removes during its handshake is counted, and named as that`(isFeedback: Bool) throws {
        let credentials = try ThrowAwayCA()
        let machine = try GatewayProcess.machine(MemoryStore(), now: .now) { _, _ in ReplayKey(high: 0, low: 0) }
        var reasons: [String] = []
        let driver = GatewayDriver(machine, upstreams: [], store: nil, names: ["old"], on: self.eventLoop) { event, _ in
            if case .stranger(_, let reason) = event { reasons.append(reason) }
        }
        let (strangers, doors) = (Strangers(on: self.eventLoop), OpenDoors(GatewayClients([(.anyone, 0)])))
        let tls = try TLSHandler(server: TLSContext(server: .init(identity: credentials.server())))
        let handler: any ChannelHandler =
            isFeedback
            ? GatewayFeedbackHandler(driver: driver, doors: doors, strangers: strangers, tls: tls)
            : GatewayHandler(driver: driver, doors: doors, strangers: strangers, tls: tls)
        // The test ends the handshake itself.
        let channel = EmbeddedChannel(handlers: [handler], loop: self.eventLoop)
        try channel.connect(to: SocketAddress(ipAddress: "192.0.2.1", port: 1)).wait()
        doors.close()
        channel.pipeline.fireUserInboundEventTriggered(TLSUserEvent.handshakeCompleted(negotiatedProtocol: nil))
        self.eventLoop.run()
        #expect(!channel.isActive)
        #expect(driver.work.refusals == [.certificate: 1])
        #expect(reasons == ["The configuration does not name the client any more."])
        driver.finish()
    }
}
