import FerryCore
import Testing

@Suite struct PushBatchTests {
    @Test func `A notification comes out of the batch as it went in`() throws {
        let full = try PushNotification(
            json: #"{"aps":{"alert":"é"}}"#.utf8,
            topic: "com.example.app",
            pushType: .liveactivity,
            priority: .low,
            expiration: .once,
            collapseID: "é",
            apnsID: APNSID("eabeae54-14a8-11e5-b60b-1697f925ec7b")
        )
        let bare = try PushNotification(json: "{}".utf8)
        let device = try DeviceToken([1, 2, 3])
        var batch = PushBatch()
        try batch.append(full, to: device, tag: 7)
        try batch.append(bare, to: DeviceToken([UInt8](repeating: 9, count: 100)), tag: PushTag(.max))

        let run = batch.takeFirst(2)
        #expect(run.notification(at: 0) == full)
        #expect(run.notification(at: 1) == bare)
        #expect(run.device(at: 0) == device)
        #expect(run.device(at: 1).bytes.count == 100)
        #expect(run.entries[0].tag == 7)
        #expect(run.entries[1].tag == .max)
        #expect(run.entries[0].tokenHash == device.bytes.withUnsafeBufferPointer(DeviceToken.stableHash))
        #expect(run.entries[1].fields == BatchEntry.Fields())
    }

    @Test func `One notification keeps no room for others once it was handed over`() throws {
        let notification = try PushNotification(json: #"{"aps":{}}"#.utf8)
        let device = try DeviceToken([1, 2, 3])
        var batch = PushBatch()
        try batch.append(notification, to: device, tag: 7)
        let run = batch.takeFirst(1)
        #expect(run.storage.byteCapacity <= 128)
        #expect(run.notification(at: 0) == notification && run.device(at: 0) == device && run.entries[0].tag == 7)
        // The batch can be filled again.
        try batch.append(notification, to: device, tag: 8)
        let second = batch.takeFirst(1)
        #expect(second.notification(at: 0) == notification && second.entries[0].tag == 8)
    }

    @Test func `An entry has 32 bytes`() {
        #expect(MemoryLayout<BatchEntry>.stride == 32)
    }

    @Test(arguments: 0..<20 as Range<UInt64>)
    func `Whatever is appended and taken in whatever order, everything comes out once and whole`(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        var batch = PushBatch(capacity: Int.random(in: -1...4, using: &generator))
        var appended: [Submission] = []
        var runs: [BatchRun] = []
        var taken = 0
        for _ in 0..<400 {
            if Int.random(in: 0..<10, using: &generator) < 7 {
                let submission = try Self.random(tag: UInt64(appended.count), using: &generator)
                try batch.append(submission.notification, to: submission.device, tag: submission.tag)
                appended.append(submission)
            } else {
                let wanted = Int.random(in: -1...20, using: &generator)
                let run = batch.takeFirst(wanted)
                #expect(run.count == min(max(wanted, 0), appended.count - taken))
                taken += run.count
                runs.append(run)
            }
            let (count, isEmpty) = (batch.count, batch.isEmpty)
            #expect(count == appended.count - taken)
            #expect(isEmpty == (count == 0))
        }
        runs.append(batch.takeFirst(.max))
        // The runs are checked only now, after the batch has grown, moved and been emptied.
        let out = runs.flatMap { run in
            (0..<run.count).map { ($0, run) }
        }
        #expect(out.count == appended.count)
        for (submission, (index, run)) in zip(appended, out) {
            #expect(run.notification(at: index) == submission.notification, "seed \(seed)")
            #expect(run.device(at: index) == submission.device, "seed \(seed)")
            #expect(run.entries[index].tag == submission.tag.rawValue, "seed \(seed)")
        }
    }

    @Test func `Memory that a provider holds a part of does not move`() throws {
        let notification = try PushNotification(json: [UInt8]("{}".utf8))
        let device = try DeviceToken([1])
        var batch = PushBatch(capacity: 8)
        for tag in 0..<4 { try batch.append(notification, to: device, tag: PushTag(UInt64(tag))) }
        let run = batch.takeFirst(2)
        let (entries, arena) = (run.storage.entries, run.storage.arena)
        for tag in 4..<1000 { try batch.append(notification, to: device, tag: PushTag(UInt64(tag))) }

        #expect(run.storage.entries == entries && run.storage.arena == arena)
        #expect((0..<2).map { run.entries[$0].tag } == [0, 1])
        let rest = batch.takeFirst(.max)
        #expect(rest.storage !== run.storage)
        #expect((0..<rest.count).map { rest.entries[$0].tag } == (2..<1000).map { UInt64($0) })
    }

    @Test func `A long batch that is taken and filled one by one is seldom copied`() throws {
        let notification = try PushNotification(json: [UInt8]("{}".utf8))
        let device = try DeviceToken([1])
        var batch = PushBatch()
        for tag in 0..<1000 { try batch.append(notification, to: device, tag: PushTag(UInt64(tag))) }
        var copies = 0
        for tag in 0..<10_000 {
            let storage = batch.storage
            let run = batch.takeFirst(1)
            #expect(run.entries[0].tag == UInt64(tag))
            try batch.append(notification, to: device, tag: PushTag(UInt64(tag + 1000)))
            if batch.storage !== storage { copies += 1 }
        }
        #expect(copies <= 11)
    }

    @Test func `Runs may be read on other threads while the batch is filled and taken from`() async throws {
        let device = try DeviceToken([1, 2, 3])
        try await withThrowingTaskGroup(of: Bool.self) { group in
            var batch = PushBatch(capacity: 64)
            for tag in 0..<2000 {
                let notification = try PushNotification(json: #"{"n":\#(tag)}"#.utf8)
                try batch.append(notification, to: device, tag: PushTag(UInt64(tag)))
                guard tag % 5 == 4 else { continue }
                let run = batch.takeFirst(4)
                group.addTask {
                    (0..<run.count).allSatisfy { index in
                        let json = Array(#"{"n":\#(run.entries[index].tag)}"#.utf8)
                        return run.notification(at: index).payload == json && run.device(at: index) == device
                    }
                }
            }
            for try await isWhole in group { #expect(isWhole) }
        }
    }

    @Test func `What was emptied can be filled again`() throws {
        var batch = PushBatch(capacity: 1)
        let notification = try PushNotification(json: [UInt8]("{}".utf8))
        try batch.append(notification, to: DeviceToken([1]), tag: 1)
        batch.removeAll()
        let count = batch.count
        #expect(count == 0)
        try batch.append(notification, to: DeviceToken([2]), tag: 2)
        let run = batch.takeFirst(5)
        #expect(run.device(at: 0).bytes == [2])
    }

    @Test func `A first capacity is a wish that no memory is spent on`() {
        for capacity in [Int.max, .min] {
            let isEmpty = PushBatch(capacity: capacity).isEmpty
            #expect(isEmpty)
        }
    }

    @Test func `An arena beyond 4 GiB is refused before anything grows`() {
        let storage = BatchStorage(capacity: 1, arenaCapacity: 64)
        let (entries, arena) = (storage.entries, storage.arena)
        #expect(!storage.reserve(bytes: BatchStorage.arenaLimit + 1))
        #expect(storage.entries == entries && storage.arena == arena)
    }

    @Test func `A run is cut from its front`() throws {
        var batch = PushBatch()
        let notification = try PushNotification(json: [UInt8]("{}".utf8))
        for tag in 0..<5 { try batch.append(notification, to: DeviceToken([1]), tag: PushTag(UInt64(tag))) }
        var run = batch.takeFirst(5)
        let nothing = run.takeFirst(-1)
        #expect(nothing.count == 0)
        let head = run.takeFirst(2)
        #expect((head.start, head.count, run.start, run.count) == (0, 2, 2, 3))
        let rest = run.takeFirst(9)
        #expect((rest.count, run.count) == (3, 0))
    }

    private static func random(tag: UInt64, using generator: inout SeededGenerator) throws -> Submission {
        let text = String(repeating: "x", count: Int.random(in: 0...600, using: &generator))
        let token = (0..<Int.random(in: 1...100, using: &generator)).map { _ in UInt8.random(in: 0...255) }
        let expiration = UInt32.random(in: 0...(.max), using: &generator)
        return Submission(
            try PushNotification(
                json: #"{"a":"\#(text)"}"#.utf8,
                topic: generator.pick([nil, "com.example.app", String(repeating: "t", count: 255)]),
                pushType: generator.pick([nil] + PushType.allCases.map { $0 }),
                priority: generator.pick([nil] + Priority.allCases.map { $0 }),
                expiration: generator.pick([nil, Expiration(epochSeconds: expiration)]),
                collapseID: generator.pick([nil, "é", String(repeating: "c", count: 64)]),
                apnsID: generator.pick([nil, APNSID.random(using: &generator)])
            ),
            to: try DeviceToken(token),
            tag: PushTag(tag)
        )
    }
}
