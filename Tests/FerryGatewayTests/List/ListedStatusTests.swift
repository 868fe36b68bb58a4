import FerryBinary
import FerryCore
import NIOCore
import Testing

@testable import FerryGateway

/// The status that a line of the list of rejections has: none if no error response can come.
@Suite struct ListedStatusTests {
    private static let key = Array("api.push.apple.com:443 TEAM KEY".utf8)
    private static let bad = Outcome.rejected(Rejection(reason: .badDeviceToken, origin: .apns, status: 400))

    private func statuses(_ scene: GatewayStoreScene) -> [BinaryStatus?] {
        scene.events.compactMap { if case .refused(let refusal) = $0 { .some(refusal.status) } else { nil } }
    }

    private static func frame(_ identifier: UInt32?, _ token: [UInt8], _ payload: String) -> ByteBuffer {
        var bytes = ByteBuffer(integer: UInt8(identifier == nil ? 0 : 1))
        if let identifier { bytes.writeMultipleIntegers(identifier, UInt32(0)) }
        bytes.writeInteger(UInt16(token.count))
        bytes.writeBytes(token)
        bytes.writeInteger(UInt16(payload.utf8.count))
        bytes.writeString(payload)
        return bytes
    }

    @Test func `a client that never sends again hears nothing, and its lines have no status`() throws {
        let scene = try GatewayStoreScene { $0.resends = false }
        scene.warm()
        let connection = scene.connect()
        scene.push([1, 1], 1, on: connection)
        scene.push([2, 2], 2, payload: "no JSON", on: connection)
        scene.answer([1, 1], Self.bad)
        scene.wait(.seconds(5))
        #expect(scene.told.isEmpty)
        #expect(self.statuses(scene) == [nil, nil])
    }

    @Test func `a client with one identifier for all hears nothing, and its lines have no status`() throws {
        let scene = try GatewayStoreScene()
        let connection = scene.connect()
        for name: UInt8 in 1...3 {
            scene.push([name], 0, on: connection)
            scene.answer([name])
        }
        scene.push([9], 0, on: connection)
        scene.answer([9], Self.bad)
        scene.wait(.seconds(5))
        #expect(scene.told.isEmpty)
        #expect(self.statuses(scene) == [nil])
    }

    @Test func `a client that numbers its notifications hears of it, and its line has the status`() throws {
        let scene = try GatewayStoreScene()
        let connection = scene.connect()
        scene.push([1], 1, on: connection)
        scene.answer([1])
        scene.push([2], 2, on: connection)
        scene.answer([2], Self.bad)
        scene.wait(.seconds(1))
        #expect(scene.told == [ErrorResponse(status: .invalidToken, identifier: 2)])
        #expect(self.statuses(scene) == [.invalidToken])
    }

    @Test func `a probe is answered to a client that never sends again, and its line has the status`() throws {
        let scene = try GatewayStoreScene { $0.resends = false }
        scene.warm()
        let connection = scene.connect()
        scene.machine.received(connection, Self.frame(7, [], "{}"), now: scene.now)
        scene.collect()
        scene.wait(.seconds(1))
        #expect(scene.told == [ErrorResponse(status: .missingDeviceToken, identifier: 7)])
        #expect(self.statuses(scene) == [.missingDeviceToken])
    }

    @Test func `a notification of command 0 has no identifier after a kill either`() throws {
        let scene = try GatewayStoreScene(upstreamKey: Self.key)
        scene.warm()
        let connection = scene.connect()
        scene.machine.received(connection, Self.frame(nil, [1, 1], #"{"aps":{}}"#), now: scene.now)
        scene.collect()
        scene.push([2, 2], 2, on: connection)
        scene.wait(.seconds(1))
        try scene.kill()
        scene.answer([1, 1], Self.bad)
        scene.answer([2, 2], Self.bad)
        #expect(self.statuses(scene) == [nil, .invalidToken])
    }
}
