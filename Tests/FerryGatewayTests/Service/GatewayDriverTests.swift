import FerryBinary
import FerryMachine
import NIOCore
import NIOEmbedded
import Testing

@testable import FerryGateway

@Suite struct GatewayDriverTests {
    /// A driver before a store, with the client "old", and the reasons of its refusals.
    private func withDriver(_ body: (GatewayDriver, MemoryStore, EmbeddedEventLoop, () -> [String]) throws -> Void)
        throws
    {
        let (store, eventLoop) = (MemoryStore(), EmbeddedEventLoop())
        let machine = try GatewayProcess.machine(store, now: .now) { token, _ in
            ReplayKey(high: 0, low: UInt64(token.first ?? 0))
        }
        var reasons: [String] = []
        let driver = GatewayDriver(machine, upstreams: [], store: store, names: ["old"], on: eventLoop) { event, _ in
            if case .stranger(_, let reason) = event { reasons.append(reason) }
        }
        try body(driver, store, eventLoop) { reasons }
        driver.finish()
    }

    @Test func `a store that does not answer holds nobody up`() throws {
        try self.withDriver { driver, store, eventLoop, reasons in
            store.hold()
            var readers: [Bool] = []
            #expect(driver.serves("192.0.2.1"))
            driver.takeFeedback(of: 0, for: "192.0.2.2") { readers.append($0 != nil) }
            #expect(readers == [true])
            #expect(reasons().isEmpty)
        }
    }

    @Test func `a gateway whose store is taken serves no client, and gives no feedback`() throws {
        try self.withDriver { driver, store, eventLoop, reasons in
            #expect(driver.serves("192.0.2.1"))
            _ = store.take()
            Self.push(1, to: driver, on: eventLoop)
            var readers: [Bool] = []
            #expect(!driver.serves("192.0.2.1"))
            driver.takeFeedback(of: 0, for: "192.0.2.2") { readers.append($0 != nil) }
            #expect(readers == [false])
            #expect(reasons() == Array(repeating: "Another gateway has taken the store.", count: 2))
            #expect(driver.figures().0.store == .taken)
        }
    }

    /// Sends a notification over a new connection, and lets the store answer.
    private static func push(_ name: UInt8, to driver: GatewayDriver, on eventLoop: EmbeddedEventLoop) {
        var frame = ByteBuffer()
        frame.writeMultipleIntegers(UInt8(1), UInt32(name), UInt32(0), UInt16(1), name)
        let payload = #"{"aps":{}}"#
        frame.writeInteger(UInt16(payload.utf8.count))
        frame.writeString(payload)
        driver.run { machine, now in
            let connection = machine.connected(identity: 0, address: [192, 0, 2, 1], now: now)
            machine.received(connection, frame, now: now)
        }
        eventLoop.run()
    }

    @Test func `a gateway whose shared store is taken hands over, and says when that is done`() throws {
        let (store, eventLoop) = (SharedMemoryStore(), EmbeddedEventLoop())
        let machine = try GatewayProcess.machine(store.memory, now: .now) { token, _ in
            ReplayKey(high: 0, low: UInt64(token.first ?? 0))
        }
        var isHandedOver = false
        let driver = GatewayDriver(machine, upstreams: [], store: store, names: ["old"], on: eventLoop) {
            isHandedOver = true
        } onEvent: { _, _ in
        }
        driver.start()
        Self.push(1, to: driver, on: eventLoop)
        store.fence()
        eventLoop.run()
        #expect(!driver.isOpen(for: "192.0.2.1") && !isHandedOver)
        func pass(_ time: TimeAmount) {
            driver.run { machine, now in
                machine.timePassed(now: Moment(monotonic: now.monotonic + time, epochSeconds: now.epochSeconds))
            }
            eventLoop.run()
        }
        pass(GatewayBounds.Journal.handover)
        #expect(!isHandedOver)
        // In one step, the process would seem to have been stopped.
        for tenth in Int64(0)..<100 { pass(GatewayBounds.Journal.handover + .milliseconds(100 * tenth)) }
        #expect(isHandedOver && machine.connectionCount == 0)
        driver.finish()
    }

    @Test(arguments: [false, true]) func `while the store is in trouble or taken, clients are refused for that`(
        isTaken: Bool
    ) throws {
        try self.withDriver { driver, store, eventLoop, reasons in
            if isTaken { _ = store.take() } else { store.fail("The disk is full.") }
            Self.push(1, to: driver, on: eventLoop)
            let isOpen = [driver.isOpen(for: "192.0.2.1"), driver.isOpen(identity: 0, for: "192.0.2.2")]
            #expect(isOpen == [false, false])
            #expect(driver.work.refusals == [.store: 2])
            let sentence =
                isTaken ? "Another gateway has taken the store." : "The store cannot be written, or does not answer."
            #expect(reasons() == [sentence, sentence])
        }
    }

    @Test func `after the end nothing more goes to the store`() throws {
        try self.withDriver { driver, store, eventLoop, _ in
            Self.push(1, to: driver, on: eventLoop)
            #expect(store.count == 1)
            driver.finish()
            let count = store.count
            Self.push(2, to: driver, on: eventLoop)
            eventLoop.advanceTime(by: .minutes(5))
            #expect(store.count == count)
        }
    }
}
