import FerryBinary
import FerryCore
import NIOCore
import Testing

@testable import FerryGateway

/// What clients send again after a kill.
@Suite struct CrashCopiesTests {
    private static func token(_ number: Int) -> [UInt8] { [1, UInt8(number >> 8), UInt8(number & 0xff)] }

    /// Pushes at this rate, and has each accepted. Returns the tokens.
    private static func pushAll(
        _ scene: GatewayStoreScene,
        _ numbers: Range<Int>,
        every interval: TimeAmount,
        on connection: ConnectionID
    ) {
        for number in numbers {
            scene.push(Self.token(number), UInt32(number), on: connection)
            scene.answer(Self.token(number))
            scene.wait(interval)
        }
    }

    /// Sends all again on a new connection at once. Returns how many went out.
    private static func pushAgain(_ scene: GatewayStoreScene, _ numbers: Range<Int>) -> Int {
        let connection = scene.connect()
        var count = 0
        for number in numbers {
            scene.push(Self.token(number), UInt32(number), on: connection)
            if scene.sentTokens.contains(Self.token(number)) { count += 1 }
            scene.answer(Self.token(number))
        }
        return count
    }

    @Test(arguments: [(24, 48), (45, 90)])
    func `notifications of the last minute are swallowed when they come again`(seconds: Int, count: Int) throws {
        let scene = try GatewayStoreScene()
        Self.pushAll(scene, 0..<(2 * seconds), every: .milliseconds(500), on: scene.connect())
        try scene.kill()
        #expect(Self.pushAgain(scene, (2 * seconds - count)..<(2 * seconds)) == 0)
    }

    @Test func `older notifications are sent, and so is the first of the row`() throws {
        let scene = try GatewayStoreScene()
        Self.pushAll(scene, 0..<160, every: .milliseconds(500), on: scene.connect())
        try scene.kill()
        let count = Self.pushAgain(scene, 0..<160)
        #expect((40...44).contains(count), "\(count)")
    }

    @Test func `the minute is the page's, and the journal keeps it`() {
        #expect(GatewayBounds.Journal.crashAge == 60)
        #expect(GatewayBounds.Journal.lifetime == GatewayBounds.crashLifetime)
    }

    @Test(arguments: [false, true])
    func `a clock that is set back before the kill changes nothing`(reboots: Bool) throws {
        let scene = try GatewayStoreScene()
        let connection = scene.connect()
        Self.pushAll(scene, 0..<280, every: .milliseconds(25), on: connection)
        scene.setClockBack(2400)
        Self.pushAll(scene, 280..<400, every: .milliseconds(25), on: connection)
        try scene.kill(reboots: reboots)
        #expect(Self.pushAgain(scene, 0..<400) == 0)
    }

    @Test func `a clock that is set back between the kill and the start changes nothing`() throws {
        let scene = try GatewayStoreScene()
        Self.pushAll(scene, 0..<100, every: .milliseconds(25), on: scene.connect())
        scene.setClockBack(2400)
        try scene.kill()
        #expect(Self.pushAgain(scene, 0..<100) == 0)
    }

    @Test func `a clock that is set forward changes nothing`() throws {
        let scene = try GatewayStoreScene()
        scene.setClockBack(2400)
        let connection = scene.connect()
        Self.pushAll(scene, 0..<50, every: .milliseconds(25), on: connection)
        scene.setClockForward(2400)
        Self.pushAll(scene, 50..<100, every: .milliseconds(25), on: connection)
        try scene.kill()
        #expect(Self.pushAgain(scene, 0..<100) == 0)
    }

    @Test func `after another boot the wall clock counts`() throws {
        let scene = try GatewayStoreScene()
        Self.pushAll(scene, 0..<100, every: .milliseconds(25), on: scene.connect())
        scene.wait(.seconds(61))
        try scene.kill(reboots: true)
        #expect(Self.pushAgain(scene, 0..<100) == 100)
    }

    @Test func `segments without a time, of an older version, are read by the wall clock`() throws {
        let time = SegmentTime(boot: GatewayProcess.boot, milliseconds: 5, epochSeconds: 1_700_000_000)
        var bytes = Segment.end(Segment.begin(capacity: 64), time, GatewayProcess.checksum)
        let number: UInt64 = 1 << 40
        #expect(try Segment.read(StoredSegment(number: number, bytes: bytes), GatewayProcess.checksum) { _ in } == time)
        // The older form: version 1, and no times.
        bytes = Array(bytes[..<4]) + [1, 0]
        bytes += withUnsafeBytes(of: GatewayProcess.checksum(bytes).bigEndian) { Array($0) }
        #expect(try Segment.read(StoredSegment(number: number, bytes: bytes), GatewayProcess.checksum) { _ in } == nil)
    }

    @Test func `this machine has a boot identifier, where it is Linux`() {
        #if os(Linux)
        #expect(BootIdentifier.current?.bytes.count == BootIdentifier.length)
        #expect(BootIdentifier.current == BootIdentifier.current)
        #endif
        #expect(BootIdentifier("no identifier") == nil)
    }

    // MARK: Habits

    @Test func `a client that opens a connection for each notification is known after a kill`() throws {
        let scene = try GatewayStoreScene()
        let bad = Outcome.rejected(Rejection(reason: .badDeviceToken, origin: .apns, status: 400))
        for number in 0..<2 {
            let connection = scene.connect()
            scene.push(Self.token(number), 1, on: connection)
            scene.answer(Self.token(number))
            scene.wait(.milliseconds(200))
            scene.hangUp(connection)
        }
        scene.wait(.seconds(1))
        try scene.kill()
        scene.warm()
        let connection = scene.connect()
        scene.push(Self.token(9), 1, on: connection)
        scene.answer(Self.token(9), bad)
        scene.wait(.milliseconds(100))
        #expect(scene.told.map(\.identifier) == [1])
        // It is forgotten after 30 days.
        scene.wait(.hours(24 * 32))
        try scene.kill()
        scene.wait(.seconds(1))
        #expect(scene.store.all(.habits).isEmpty)
    }

    @Test func `in a shared store, outdated habits are forgotten, but not those of clients that this node cannot name`()
        throws
    {
        let scene = try GatewayStoreScene(on: MemoryStore(isShared: true))
        let keys = ["old", "other"].map { StoreTable.key(client: $0, [192, 0, 2, 9]) }
        // The time of this scene, a class, and no habits.
        let value = [0x65, 0x53, 0xf1, 0, 1] + [UInt8](repeating: 0, count: 8)
        for key in keys { scene.store.damage(StoreChange(.habits, key: key, value: value)) }
        try scene.kill()
        scene.wait(.seconds(1))
        #expect(Set(scene.store.all(.habits).map(\.key)) == Set(keys))
        scene.wait(.hours(24 * 32))
        try scene.kill()
        scene.wait(.seconds(1))
        #expect(scene.store.all(.habits).map(\.key) == [keys[1]])
    }

    @Test func `the row of a client's habits keeps all of them`() throws {
        var filter = ReplayFilter()
        var habits = SendingHabits()
        habits.saw(.numbers, on: 20_000)
        habits.saw(.keepsSingles, on: 19_990)
        filter.restore(habits, .resends(Reach(proven: 7, limit: 50)), shownAt: 1_700_000_000)
        let scope = ReplayScope(identity: 0, address: [192, 0, 2, 1])
        let change = ClientHabit(scope, filter).row(identities: ["old"])
        let row = StoreRow(key: change.key, value: try #require(change.value))
        let habit = try #require(ClientHabit(row, identities: ["old": 0]))
        #expect(habit.scope == scope && habit.habits == habits && habit.shownAt == 1_700_000_000)
        #expect(habit.replayClass == .resends(Reach(proven: 7, limit: 50)))
        // A row of an older version has no habits beside the class.
        let older = StoreRow(key: row.key, value: row.value.dropLast(8))
        #expect(ClientHabit(older, identities: ["old": 0])?.habits == SendingHabits())
    }

    @Test func `a damaged row of habits stops no start`() throws {
        let scene = try GatewayStoreScene()
        let connection = scene.connect()
        scene.push(Self.token(1), 1, on: connection)
        scene.push(Self.token(2), 2, on: connection)
        scene.wait(.seconds(1))
        let rows = scene.store.all(.habits)
        let key = StoreTable.key(client: "old", [192, 0, 2, 9])
        for damaged in [key, try #require(rows.first?.key)] {
            // The time, the class, and a day after 2106.
            let value: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff]
            scene.store.damage(StoreChange(.habits, key: damaged, value: value))
        }
        try scene.kill()
        #expect(scene.machine.isOpen(identity: 0, now: scene.now))
    }
}
