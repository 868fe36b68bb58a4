import FerryBinary
import FerryCore
import NIOCore
import Testing

@testable import FerryGateway

/// What a restart knows of the gates, and of notifications that may have arrived.
@Suite struct WarmGateStoreTests {
    private static let bad = Outcome.rejected(Rejection(reason: .badDeviceToken, origin: .apns, status: 400))
    private static let key = Array("api.push.apple.com:443 TEAM KEY".utf8)

    /// The status in the list of a bad token that a new connection sends.
    private static func status(_ scene: GatewayStoreScene, _ token: [UInt8]) -> BinaryStatus? {
        let connection = scene.connect()
        scene.push(token, 1, on: connection)
        scene.answer(token, Self.bad)
        for case .refused(let refusal) in scene.events.reversed() where refusal.token == token { return refusal.status }
        return nil
    }

    @Test func `a restart does not shut a warm gate`() throws {
        let scene = try GatewayStoreScene(upstreamKey: Self.key)
        #expect(Self.status(scene, [1]) == nil)
        scene.push([2], 2, on: scene.connect())
        scene.answer([2])
        scene.wait(.seconds(1))
        try scene.kill()
        #expect(Self.status(scene, [3]) == .invalidToken)
    }

    /// C22: a gate that is stored without its key tells good tokens as bad after the environment was changed to a wrong one.
    @Test(arguments: ["api.sandbox.push.apple.com:443 TEAM KEY", "api.push.apple.com:443 TEAM OTHER", ""])
    func `another host or credential begins cold, and the way back is warm`(other: String) throws {
        let scene = try GatewayStoreScene(upstreamKey: Self.key)
        scene.push([1], 1, on: scene.connect())
        scene.answer([1])
        scene.wait(.seconds(1))
        scene.upstreamKey = Array(other.utf8)
        try scene.kill()
        #expect(Self.status(scene, [2]) == nil)
        scene.wait(.seconds(1))
        scene.upstreamKey = Self.key
        try scene.kill()
        #expect(Self.status(scene, [3]) == .invalidToken)
    }

    @Test func `another topic begins cold`() {
        let route = { (topic: String) in Route(upstream: 0, topic: Array(topic.utf8), upstreamKey: Self.key) }
        #expect(GateRow.key(of: route("com.example.a")) != GateRow.key(of: route("com.example.b")))
        #expect(GateRow.key(of: Route(upstream: 0, topic: Array("com.example.a".utf8))) == nil)
    }

    @Test func `an acceptance counts for thirty days, and the store hears of it once a day`() throws {
        let scene = try GatewayStoreScene(upstreamKey: Self.key)
        let connection = scene.connect()
        let row = { scene.store.all(.gates).first { $0.key.first == 0 }?.value }
        var values: [[UInt8]?] = []
        for day in 0..<3 {
            for number in 0..<2 {
                scene.push([UInt8(day), UInt8(number)], UInt32(10 * day + number), on: connection)
                scene.answer([UInt8(day), UInt8(number)])
                scene.wait(.hours(1))
                values.append(row())
            }
            scene.wait(.hours(22))
        }
        #expect(values[0] == values[1] && values[1] != values[2] && values[2] == values[3] && values[3] != values[4])
        scene.wait(.hours(24 * 29))
        try scene.kill()
        #expect(Self.status(scene, [100]) == .invalidToken)
        scene.wait(.hours(24 * 31))
        try scene.kill()
        #expect(Self.status(scene, [101]) == nil)
    }

    @Test func `rows of gates that are cold, and of clients that are gone, are removed`() {
        let now: UInt32 = 1_700_000_000
        func gate(_ topic: String) -> [UInt8] { [0] + Self.key + [0] + topic.utf8 }
        func time(_ days: UInt32) -> [UInt8] { (now - days * 86_400).bytes }
        let rows = [
            StoreRow(key: gate("a"), value: time(29)),
            StoreRow(key: gate("b"), value: time(31)),
            StoreRow(key: gate("c"), value: [1]),
            StoreRow(key: GateRow.key(ofClient: "here"), value: gate("b")),
            StoreRow(key: GateRow.key(ofClient: "gone for a while"), value: gate("a")),
            StoreRow(key: GateRow.key(ofClient: "gone"), value: gate("b")),
        ]
        let outdated = GateRow.outdated(rows, clients: ["here"], now: now).map(\.key)
        #expect(outdated == [gate("b"), gate("c"), GateRow.key(ofClient: "gone")])
    }

    @Test func `tokens that another credential refused are tried with the new one`() throws {
        for (key, isKnown) in [(Self.key, true), (Array("other".utf8), false)] {
            let scene = try GatewayStoreScene(upstreamKey: Self.key)
            let connection = scene.connect()
            scene.push([1], 1, on: connection)
            scene.answer([1])
            scene.push([2], 2, on: connection)
            scene.answer([2], Self.bad)
            scene.hangUp(connection)
            scene.wait(.seconds(2))
            scene.upstreamKey = key
            try scene.kill()
            let next = scene.connect()
            scene.push([3], 1, on: next)
            scene.answer([3])
            scene.push([2], 2, payload: #"{"aps":{"alert":"Again"}}"#, on: next)
            #expect(scene.sentTokens.contains([2]) != isKnown)
        }
    }

    // MARK: What may have arrived

    @Test func `a notification that may have arrived twice is a dead letter, also after a restart`() throws {
        let scene = try GatewayStoreScene()
        scene.push([1], 1, on: scene.connect())
        scene.answer([1], .uncertain(.positionUnknown))
        #expect(scene.sentTokens == [[1]])
        scene.wait(.seconds(1))
        try scene.kill()
        #expect(scene.sentTokens == [[1]])
        scene.answer([1], .uncertain(.positionUnknown))
        #expect(scene.sentTokens.isEmpty)
        let lines = scene.events.count { if case .uncertain(_, again: true) = $0 { true } else { false } }
        let deadLetters = scene.events.count { if case .deadLetter = $0 { true } else { false } }
        #expect(lines == 1 && deadLetters == 1)
        scene.wait(.seconds(1))
        try scene.kill()
        #expect(scene.sentTokens.isEmpty)
    }

    @Test(arguments: [true, false]) func `an end with a store lists the notifications that may have arrived`(
        isRepeated: Bool
    ) throws {
        let scene = try GatewayStoreScene { $0.repeatsUnknown = isRepeated }
        scene.push([1], 1, on: scene.connect())
        scene.machine.abandon()
        #expect(scene.machine.giveUpUnanswered())
        scene.answer([1], .uncertain(.shutDown))
        #expect(scene.sentTokens.isEmpty)
        let lines = scene.events.compactMap { if case .uncertain(_, let again) = $0 { again } else { nil } }
        #expect(lines == [isRepeated])
        scene.machine.sealJournal(now: scene.now)
        scene.collect()
        try scene.kill()
        #expect(scene.sentTokens == (isRepeated ? [[1]] : []))
    }
}

extension UInt32 {
    fileprivate var bytes: [UInt8] { withUnsafeBytes(of: self.bigEndian) { Array($0) } }
}
