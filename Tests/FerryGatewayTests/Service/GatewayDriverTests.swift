import FerryBinary
import NIOCore
import NIOEmbedded
import Testing

@testable import FerryGateway

@Suite struct GatewayDriverTests {
    @Test func `after the end nothing more goes to the store`() throws {
        let (store, eventLoop) = (MemoryStore(), EmbeddedEventLoop())
        let machine = try GatewayProcess.machine(store, now: .now) { token, _ in
            ReplayKey(high: 0, low: UInt64(token.first ?? 0))
        }
        let driver = GatewayDriver(machine, upstreams: [], store: store, names: ["old"], on: eventLoop) { _, _ in }
        func push(_ name: UInt8) {
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
        push(1)
        #expect(store.count == 1)
        driver.finish()
        let count = store.count
        push(2)
        eventLoop.advanceTime(by: .minutes(5))
        #expect(store.count == count)
    }
}
