internal import FerryBinary
internal import FerryCore
internal import NIOCore
internal import Testing

struct NotificationEncoderTests {
    static let token = Array(UInt8(0)..<32)
    static let payload = Array(#"{"aps":{"alert":"Hello"}}"#.utf8)

    /// Returns the bytes of one notification, and checks guard bytes on both sides.
    static func encode(
        token: [UInt8] = token,
        payload: [UInt8] = payload,
        priority: Priority? = nil,
        expiration: Expiration? = nil,
        identifier: UInt32,
        command: Command
    ) throws -> [UInt8] {
        var batch = PushBatch(capacity: 1)
        let decoy = try PushNotification(json: Array("{}".utf8), topic: "example")
        try batch.append(decoy, to: DeviceToken([7]), tag: 0)
        let notification = try PushNotification(
            json: payload,
            topic: "com.example.app",
            priority: priority,
            expiration: expiration
        )
        try batch.append(notification, to: DeviceToken(token), tag: 1)
        let run = batch.takeFirst(2)
        let entry = run.entries[1]
        let length = NotificationEncoder.length(of: entry, command: command)
        var bytes = [UInt8](repeating: 0xee, count: length + 16)
        let written = try bytes.withUnsafeMutableBytes { buffer in
            NotificationEncoder.write(
                entry,
                arena: run.storage.arena,
                identifier: identifier,
                command: command,
                to: try #require(buffer.baseAddress) + 7
            )
        }
        #expect(written == length)
        #expect(bytes[..<7] == [0xee, 0xee, 0xee, 0xee, 0xee, 0xee, 0xee])
        #expect(bytes[(7 + length)...].allSatisfy { $0 == 0xee })
        return Array(bytes[7..<7 + length])
    }

    @Test func `notifications are written as the vectors have them`() throws {
        var covered = 0
        for vector in try FrameVector.all where vector.canBeWritten {
            let written = try Self.encode(
                token: bytes(hex: #require(vector.token)),
                payload: Array(#require(vector.payload).utf8),
                priority: vector.priority.flatMap(Priority.init(rawValue:)),
                expiration: vector.expiration.map(Expiration.init(epochSeconds:)),
                identifier: vector.identifier ?? 0,
                command: #require(vector.command.flatMap(Command.init(rawValue:)))
            )
            #expect(try written == bytes(hex: vector.hex), "\(vector.name)")
            covered += 1
        }
        #expect(covered == 8)
    }

    @Test func `a notification has all five items, even without priority and expiration`() throws {
        let absent = try Self.encode(identifier: 1, command: .frame)
        let given = try Self.encode(priority: .immediate, expiration: .once, identifier: 1, command: .frame)
        #expect(absent == given)
        #expect(absent.suffix(11) == [4, 0, 4, 0, 0, 0, 0, 5, 0, 1, 10])
    }

    @Test func `HTTP/2's priority 1, which this protocol does not know, is written as 5`() throws {
        #expect(try Self.encode(priority: .low, identifier: 1, command: .frame).last == 5)
        #expect(try Self.encode(priority: .powerAware, identifier: 1, command: .frame).last == 5)
    }

    @Test(arguments: Command.allCases)
    func `a written notification can be read again`(_ command: Command) throws {
        var randomness = Randomness(state: 1)
        for _ in 0..<300 {
            let token = randomness.bytes(.random(in: 1...100, using: &randomness))
            let padding = [UInt8](repeating: 0x61, count: .random(in: 0...2040, using: &randomness))
            let payload = Array(#"{"":""#.utf8) + padding + Array(#""}"#.utf8)
            let identifier = UInt32.random(in: 0...UInt32.max, using: &randomness)
            let expiration = UInt32.random(in: 0...UInt32.max, using: &randomness)
            let written = try Self.encode(
                token: token,
                payload: payload,
                priority: .powerAware,
                expiration: Expiration(epochSeconds: expiration),
                identifier: identifier,
                command: command
            )
            guard case .notification(let frame) = NotificationDecoder().decode(written.span.bytes, at: 0) else {
                Issue.record("not read")
                return
            }
            #expect(Array(written[frame.token]) == token)
            #expect(Array(written[frame.payload]) == payload)
            #expect(frame.command == command)
            #expect(frame.length == written.count)
            #expect(frame.identifier == (command == .simple ? nil : identifier))
            #expect(frame.expiration == (command == .simple ? nil : expiration))
            #expect(frame.priority == (command == .frame ? 5 : nil))
        }
    }

    @Test func `every gateway refuses a probe for its missing token`() throws {
        var bytes = [UInt8](repeating: 0xee, count: NotificationEncoder.probeLength + 1)
        let written = try bytes.withUnsafeMutableBytes { buffer in
            NotificationEncoder.writeProbe(identifier: 0x0102_0304, to: try #require(buffer.baseAddress))
        }
        #expect(written == NotificationEncoder.probeLength)
        #expect(bytes.removeLast() == 0xee)
        let items: [[UInt8]] = [
            [3, 0, 4, 1, 2, 3, 4], [1, 0, 0], [2, 0, 2, 0x7b, 0x7d], [4, 0, 4, 0, 0, 0, 0], [5, 0, 1, 10],
        ]
        #expect(bytes == [2, 0, 0, 0, 26] + items.flatMap { $0 })
        guard case .refused(let refusal) = NotificationDecoder().decode(bytes.span.bytes, at: 0) else {
            Issue.record("not refused")
            return
        }
        #expect(refusal.status == .missingDeviceToken)
        #expect(refusal.identifier == 0x0102_0304)
        #expect(refusal.length == written)
    }
}
