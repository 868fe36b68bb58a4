import FerryCore
import Synchronization
import Testing

@testable import Ferry

struct SubmissionQueueTests {
    private final class Flag: Sendable {
        private let value = Atomic(false)

        var isSet: Bool { self.value.load(ordering: .relaxed) }

        func set() { self.value.store(true, ordering: .relaxed) }
    }

    private static func offer(_ count: Int, to queue: SubmissionQueue) throws {
        var batch = PushBatch()
        let notification = try PushNotification(json: #"{"aps":{}}"#.utf8)
        for number in 0..<count {
            try batch.append(notification, to: DeviceToken([1, 2, 3, 4]), tag: PushTag(UInt64(number)))
        }
        _ = queue.offer(&batch)
    }

    /// Plays the loop: takes the notifications that callers handed over, and writes `count` of the queued ones.
    private static func run(_ queue: SubmissionQueue, writing count: Int, of limit: Int) {
        _ = queue.collect()
        queue.occupy(queued: limit - count, delayed: 0) { 0 }
    }

    @Test func `a caller who waits gets in when there is room among notifications that are delayed`() async throws {
        let queue = SubmissionQueue(limit: 4096)
        try Self.offer(4096, to: queue)
        try await withThrowingTaskGroup { group in
            group.addTask { await queue.waitForRoom() }
            for _ in 0..<100 { await Task.yield() }
            _ = queue.collect()
            queue.occupy(queued: 4095, delayed: 4000) { 0 }
            try await group.waitForAll()
        }
    }

    @Test func `a caller who waits gets in, though others take every place as it becomes free`() async throws {
        let limit = 4096
        let queue = SubmissionQueue(limit: limit)
        try Self.offer(limit, to: queue)
        let isIn = Flag()
        try await withThrowingTaskGroup { group in
            group.addTask {
                await queue.waitForRoom()
                isIn.set()
            }
            for _ in 0..<100 { await Task.yield() }
            for _ in 0..<1000 where !isIn.isSet {
                Self.run(queue, writing: 10, of: limit)
                try Self.offer(10, to: queue)
                await Task.yield()
            }
            #expect(isIn.isSet)
            queue.close()
            try await group.waitForAll()
        }
    }

    @Test func `a caller hears when what was taken before was written, whatever came after it`() throws {
        let queue = SubmissionQueue(limit: 100)
        try Self.offer(10, to: queue)
        let isWritten = Flag()
        _ = queue.whenWritten { isWritten.set() }
        try Self.offer(10, to: queue)
        _ = queue.collect()
        queue.occupy(queued: 11, delayed: 0) { 0 }
        #expect(!isWritten.isSet)
        queue.occupy(queued: 10, delayed: 0) { 0 }
        #expect(isWritten.isSet)
    }

    @Test func `a caller hears at once when everything was written, or waits for a later time`() throws {
        let queue = SubmissionQueue(limit: 100)
        let wasEmpty = Flag()
        #expect(queue.whenWritten { wasEmpty.set() } == nil)
        #expect(wasEmpty.isSet)
        try Self.offer(2, to: queue)
        _ = queue.collect()
        queue.occupy(queued: 1, delayed: 1) { 0 }
        let isDelayed = Flag()
        _ = queue.whenWritten { isDelayed.set() }
        #expect(isDelayed.isSet)
    }

    @Test func `a caller who waits no longer is forgotten`() throws {
        let queue = SubmissionQueue(limit: 100)
        try Self.offer(1, to: queue)
        let isWritten = Flag()
        let id = try #require(queue.whenWritten { isWritten.set() })
        queue.stopWaiting(id)
        _ = queue.collect()
        queue.occupy(queued: 0, delayed: 0) { 0 }
        #expect(!isWritten.isSet)
    }
}
