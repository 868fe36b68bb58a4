import Ferry
import FerryTesting
import Foundation
import Logging
import ServiceLifecycle
import Testing

/// Tests of repeated readings of the list.
@Suite(.timeLimit(.minutes(10)))
struct FeedbackEventsTests {
    private static func events(_ harness: FeedbackHarness, every interval: Duration?) throws -> FeedbackEvents {
        var configuration = harness.configuration
        configuration.interval = interval
        return try FeedbackReader(configuration).events()
    }

    /// An event without the parts that differ between runs.
    private static func word(_ event: FeedbackEvent) -> String {
        switch event {
        case .tuple(let tuple): "\(Int(tuple.time.timeIntervalSince1970))"
        case .completed(let report): "completed \(report.tuples)"
        case .failed(let error): "\(error.code) \(error.report.tuples)"
        @unknown default: "?"
        }
    }

    @Test func `without an interval the list is read once`() async throws {
        try await FeedbackHarness.run(FeedbackHarness.script(1..<3)) { harness in
            var words: [String] = []
            for await event in try Self.events(harness, every: nil) { words.append(Self.word(event)) }
            #expect(words == ["1", "2", "completed 2"])
        }
    }

    @Test func `an interval beyond all clocks is a wait that can be ended`() async throws {
        try await FeedbackHarness.run(FeedbackHarness.script(1..<3)) { harness in
            let events = try Self.events(harness, every: .seconds(Int64.max))
            let (read, continuation) = AsyncStream.makeStream(of: Void.self)
            async let words = {
                var words: [String] = []
                for await event in events {
                    words.append(Self.word(event))
                    if case .completed = event { continuation.finish() }
                }
                return words
            }()
            for await _ in read {}
            events.stop()
            #expect(await words == ["1", "2", "completed 2"])
        }
    }

    @Test func `a failed reading is an event, and the next one comes`() async throws {
        try await FeedbackHarness.run(FeedbackHarness.script(1..<4, .truncates, times: 1)) { harness in
            let events = try Self.events(harness, every: .milliseconds(1))
            var words: [String] = []
            for await event in events {
                words.append(Self.word(event))
                if case .failed = event {
                    harness.service.add(
                        try FeedbackTuple(time: Date(timeIntervalSince1970: 7), token: Harness.device(7))
                    )
                }
                if case .completed = event { events.stop() }
            }
            #expect(words == ["1", "2", "truncated 2", "7", "completed 1"])
            #expect(harness.service.counts.connections == 2)
        }
    }

    @Test func `a stop lets the reading come to its end`() async throws {
        try await FeedbackHarness.run(FeedbackHarness.script(0..<2000)) { harness in
            let events = try Self.events(harness, every: .milliseconds(1))
            var count = 0
            var last = ""
            for await event in events {
                events.stop()
                count += 1
                last = Self.word(event)
            }
            #expect(count == 2001)
            #expect(last == "completed 2000")
        }
    }

    @Test func `a stop before the first reading connects to nobody`() async throws {
        try await FeedbackHarness.run { harness in
            let events = try Self.events(harness, every: .seconds(3600))
            events.stop()
            for await _ in events { Issue.record("an event") }
            #expect(harness.service.counts.connections == 0)
        }
    }

    @Test(arguments: [true, false])
    func `a stop and a cancellation end the wait for the next reading`(byStop: Bool) async throws {
        try await FeedbackHarness.run { harness in
            let events = try Self.events(harness, every: .seconds(3600))
            let (ends, continuation) = AsyncStream.makeStream(of: Void.self)
            let task = Task {
                for await event in events {
                    if case .completed = event { continuation.finish() }
                }
            }
            for await _ in ends {}
            if byStop { events.stop() } else { task.cancel() }
            await task.value
        }
    }

    @Test func `cancellation delivers what was read, says so, and ends`() async throws {
        try await RawFeedback.run { service in
            let events = try FeedbackReader(service.configuration).events()
            let (words, continuation) = AsyncStream.makeStream(of: String.self)
            let task = Task {
                for await event in events { continuation.yield(Self.word(event)) }
                continuation.finish()
            }
            var connections = service.connections.makeAsyncIterator()
            let connection = try #require(await connections.next())
            try await connection.send(FeedbackHarness.tuples(4..<5))
            var iterator = words.makeAsyncIterator()
            #expect(await iterator.next() == "4")
            task.cancel()
            #expect(await iterator.next() == "cancelled 1")
            #expect(await iterator.next() == nil)
            try await connection.ended()
        }
    }

    @Test func `a service group ends it gracefully`() async throws {
        try await FeedbackHarness.run(FeedbackHarness.script(0..<3)) { harness in
            let (words, continuation) = AsyncStream.makeStream(of: String.self)
            let service = FeedbackService(try FeedbackReader(harness.configuration)) { event in
                continuation.yield(Self.word(event))
            }
            let group = ServiceGroup(services: [service], logger: Logger(label: "test"))
            async let running: Void = group.run()
            var iterator = words.makeAsyncIterator()
            for word in ["0", "1", "2", "completed 3"] { #expect(await iterator.next() == word) }
            await group.triggerGracefulShutdown()
            // A service that ends on its own is a failure of its group, except during the shutdown of the group.
            try await running
        }
    }

    @Test func `an error of the handler ends the service`() async throws {
        struct Failure: Error {}
        try await FeedbackHarness.run(FeedbackHarness.script(0..<3)) { harness in
            let service = FeedbackService(try FeedbackReader(harness.configuration)) { _ in throw Failure() }
            await #expect(throws: Failure.self) { try await service.run() }
        }
    }
}
