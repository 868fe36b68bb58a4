import Ferry
import FerryTesting
import Foundation
import NIOCore
import NIOPosix
import Testing

/// Tests of one reading: the bytes of a service, and the tuples and errors that they become.
@Suite(.timeLimit(.minutes(10)))
struct FeedbackSweepTests {
    @Test(arguments: [1, 5, 38, 1000, nil] as [Int?])
    func `every tuple comes once and in order, however the list is split`(pieceLength: Int?) async throws {
        var script = try FeedbackHarness.script(0..<100)
        script.pieceLength = pieceLength
        try await FeedbackHarness.run(script) { harness in
            let sweep = try harness.sweep()
            #expect(sweep.report == nil)
            let found = await sweep.all()
            #expect(try found.tuples == FeedbackHarness.tuples(0..<100))
            #expect(found.error == nil)
            #expect(sweep.report == FeedbackReport(tuples: 100, ending: .closeNotify))
            #expect(sweep.report?.isWhole == true)
            #expect(harness.service.tuples.isEmpty)
        }
    }

    @Test func `a tuple is delivered as soon as its last byte has come`() async throws {
        try await RawFeedback.run { service in
            let tuples = try FeedbackHarness.tuples(0..<3)
            let sweep = try FeedbackReader(service.configuration).sweep()
            async let first = sweep.next()
            var connections = service.connections.makeAsyncIterator()
            let connection = try #require(await connections.next())
            try await connection.send(Array(tuples[..<2]), dropLast: 1)
            #expect(try await first == tuples[0])
            async let second = sweep.next()
            try await connection.send([tuples[1].token.bytes[31]])
            #expect(try await second == tuples[1])
            try await connection.send([tuples[2]])
            connection.close()
            let rest = await sweep.all()
            #expect(rest.tuples == [tuples[2]])
            #expect(rest.error == nil)
        }
    }

    @Test func `a list that is empty is a success without tuples`() async throws {
        try await FeedbackHarness.run { harness in
            let sweep = try harness.sweep()
            let found = await sweep.all()
            #expect(found.tuples.isEmpty)
            #expect(found.error == nil)
            #expect(sweep.report == FeedbackReport(ending: .closeNotify))
        }
    }

    @Test func `a service that closes at once is an empty list`() async throws {
        try await FeedbackHarness.run(FeedbackHarness.script(0..<3, .closesAtOnce)) { harness in
            let found = try await harness.sweep().all()
            #expect(found.tuples.isEmpty)
            #expect(found.error == nil)
            #expect(harness.service.tuples.count == 3)
        }
    }

    @Test func `a list is read once, because reading clears it`() async throws {
        try await FeedbackHarness.run(FeedbackHarness.script(0..<3)) { harness in
            let reader = try FeedbackReader(harness.configuration)
            #expect(await reader.sweep().all().tuples.count == 3)
            #expect(await reader.sweep().all().tuples.isEmpty)
            harness.service.add(try FeedbackTuple(time: Date(timeIntervalSince1970: 9), token: Harness.device(9)))
            #expect(await reader.sweep().all().tuples.map(\.time) == [Date(timeIntervalSince1970: 9)])
        }
    }

    @Test func `a token that comes twice is delivered twice`() async throws {
        let device = try Harness.device(1)
        let script = FeedbackScript([
            .init(time: Date(timeIntervalSince1970: 1), token: device.bytes),
            .init(time: Date(timeIntervalSince1970: 2), token: device.bytes),
        ])
        try await FeedbackHarness.run(script) { harness in
            let found = try await harness.sweep().all()
            #expect(
                found.tuples == [
                    .init(time: Date(timeIntervalSince1970: 1), token: device),
                    .init(time: Date(timeIntervalSince1970: 2), token: device),
                ]
            )
        }
    }

    @Test(arguments: [nil, 1])
    func `tuples whose token cannot be one are skipped and counted`(pieceLength: Int?) async throws {
        var script = try FeedbackHarness.script(0..<2)
        script.tuples.insert(.init(time: Date(timeIntervalSince1970: 7), token: []), at: 1)
        script.tuples += [
            .init(time: Date(timeIntervalSince1970: 8), token: [UInt8](repeating: 1, count: 101)),
            .init(time: Date(timeIntervalSince1970: 9), token: []),
        ]
        script.pieceLength = pieceLength
        try await FeedbackHarness.run(script) { harness in
            let sweep = try harness.sweep()
            let found = await sweep.all()
            #expect(try found.tuples == FeedbackHarness.tuples(0..<2))
            #expect(found.error == nil)
            #expect(sweep.report == FeedbackReport(tuples: 2, skipped: 3, ending: .closeNotify))
            #expect(sweep.report?.isWhole == false)
        }
    }

    @Test func `a tuple that the end cuts off is an error behind all the others`() async throws {
        try await FeedbackHarness.run(FeedbackHarness.script(0..<3, .truncates)) { harness in
            let sweep = try harness.sweep()
            let found = await sweep.all()
            #expect(try found.tuples == FeedbackHarness.tuples(0..<2))
            #expect(found.error?.code == .truncated)
            #expect(sweep.report == FeedbackReport(tuples: 2, truncatedBytes: 37, ending: .closeNotify))
            #expect(found.error?.report == sweep.report)
            // A second iteration must not turn the failure into an empty list.
            #expect(await sweep.all().error?.code == .truncated)
        }
    }

    @Test func `an end without close_notify behind a whole tuple is the end of the list`() async throws {
        try await FeedbackHarness.run(FeedbackHarness.script(0..<3, .omitsCloseNotify)) { harness in
            let sweep = try harness.sweep()
            let found = await sweep.all()
            #expect(found.tuples.count == 3)
            #expect(found.error == nil)
            #expect(sweep.report == FeedbackReport(tuples: 3, ending: .endOfStream))
            #expect(sweep.report?.isWhole == true)
        }
    }

    @Test func `a service that never closes is left at the idle time-out, and its tuples are delivered`() async throws {
        try await FeedbackHarness.run(FeedbackHarness.script(0..<3, .neverCloses)) { harness in
            let sweep = try harness.sweep { $0.idleTimeout = .milliseconds(200) }
            let found = await sweep.all()
            // All three come, unless the machine was busy for the whole time-out.
            #expect(try found.tuples == FeedbackHarness.tuples(0..<found.tuples.count))
            #expect(found.error?.code == .notClosed)
            #expect(sweep.report == FeedbackReport(tuples: found.tuples.count, ending: .unfinished))
        }
    }

    @Test func `a service that says nothing is no empty list`() async throws {
        try await FeedbackHarness.run(FeedbackHarness.script(0..<3, .silent)) { harness in
            let found = try await harness.sweep { $0.idleTimeout = .milliseconds(50) }.all()
            #expect(found.tuples.isEmpty)
            #expect(found.error?.code == .notClosed)
            #expect(harness.service.tuples.count == 3)
        }
    }

    @Test func `a list that takes too long ends at the time-out for the whole`() async throws {
        try await FeedbackHarness.run(FeedbackHarness.script(0..<3, .neverCloses)) { harness in
            let sweep = try harness.sweep { $0.sweepTimeout = .milliseconds(200) }
            let found = await sweep.all()
            #expect(found.error?.code == .sweepTimeout)
            #expect(found.error?.report == FeedbackReport(tuples: found.tuples.count))
        }
    }

    @Test func `a reset costs no tuple that was read`() async throws {
        try await RawFeedback.run { service in
            let tuples = try FeedbackHarness.tuples(0..<50)
            let sweep = try FeedbackReader(service.configuration).sweep()
            async let first = sweep.next()
            var connections = service.connections.makeAsyncIterator()
            let connection = try #require(await connections.next())
            try await connection.send(tuples)
            #expect(try await first == tuples[0])
            try await connection.reset()
            let rest = await sweep.all()
            #expect(rest.tuples == Array(tuples[1...]))
            #expect(rest.error?.code == .connectionLost)
            #expect(rest.error?.report.tuples == 50)
        }
    }

    @Test func `whatever a reset destroys, what was read is delivered and counted`() async throws {
        try await FeedbackHarness.run(FeedbackHarness.script(0..<5000, .resets)) { harness in
            let found = try await harness.sweep().all()
            #expect(try found.tuples == FeedbackHarness.tuples(0..<found.tuples.count))
            #expect(found.error?.code == .connectionLost)
            #expect(found.error?.report.tuples == found.tuples.count)
        }
    }

    @Test(arguments: [FeedbackScript.Fault.neverCloses, nil])
    func `a slow consumer stops the reading, and gets every tuple`(fault: FeedbackScript.Fault?) async throws {
        let count = 60_000
        try await FeedbackHarness.run(FeedbackHarness.script(0..<count, fault)) { harness in
            let sweep = try harness.sweep { $0.bufferLimit = 10 }
            var numbers = 0
            for try await tuple in sweep {
                #expect(tuple.time == Date(timeIntervalSince1970: Double(numbers)))
                numbers += 1
                if numbers.isMultiple(of: 100) { await Task.yield() }
                if numbers == count, fault == .neverCloses { break }
            }
            #expect(numbers == count)
            // Ten tuples, and those that a read of 16 KiB completes in two TLS records. At the end of the stream also
            // the bytes in the system's receive buffer.
            let limit = fault == nil ? 10 + (512 << 10) / 38 : 10 + (32 << 10) / 38
            #expect(sweep.mostHeld <= limit)
        }
    }

    @Test func `cancellation closes the connection behind what was read`() async throws {
        try await RawFeedback.run { service in
            let tuples = try FeedbackHarness.tuples(0..<5)
            let sweep = try FeedbackReader(service.configuration).sweep()
            let (seen, continuation) = AsyncStream.makeStream(of: FeedbackTuple.self)
            let reading = Task {
                do throws(FeedbackError) {
                    for try await tuple in sweep { continuation.yield(tuple) }
                    return nil as FeedbackError?
                } catch {
                    return error
                }
            }
            var connections = service.connections.makeAsyncIterator()
            let connection = try #require(await connections.next())
            try await connection.send(tuples)
            var iterator = seen.makeAsyncIterator()
            for tuple in tuples { #expect(await iterator.next() == tuple) }
            reading.cancel()
            #expect(await reading.value?.code == .cancelled)
            #expect(sweep.report?.tuples == 5)
            try await connection.ended()
        }
    }

    @Test func `a task that is cancelled before it reads connects to nobody`() async throws {
        try await FeedbackHarness.run(FeedbackHarness.script(0..<3)) { harness in
            let sweep = try harness.sweep()
            let task = Task {
                while !Task.isCancelled { await Task.yield() }
                return await sweep.all()
            }
            task.cancel()
            let found = await task.value
            #expect(found.tuples.isEmpty)
            #expect(found.error?.code == .cancelled)
            #expect(harness.service.counts.connections == 0)
        }
    }

    @Test func `a sweep that nobody holds any more closes its connection`() async throws {
        try await RawFeedback.run { service in
            let reader = try FeedbackReader(service.configuration)
            async let first = reader.sweep().next()
            var connections = service.connections.makeAsyncIterator()
            let connection = try #require(await connections.next())
            try await connection.send(FeedbackHarness.tuples(0..<5))
            #expect(try await first?.time == Date(timeIntervalSince1970: 0))
            try await connection.ended()
        }
    }

    @Test func `an event loop group that is shut down ends a reading`() async throws {
        try await RawFeedback.run { service in
            let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
            var configuration = service.configuration
            configuration.eventLoopGroup = group
            let sweep = try FeedbackReader(configuration).sweep()
            async let found = sweep.all()
            var connections = service.connections.makeAsyncIterator()
            let connection = try #require(await connections.next())
            try await group.shutdownGracefully()
            #expect(await found.error != nil)
            try await connection.ended()
        }
    }

    @Test func `an event loop group that was shut down before ends a reading at once`() async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        var configuration = FeedbackConfiguration(host: "127.0.0.1", port: 1)
        configuration.eventLoopGroup = group
        let reader = try FeedbackReader(configuration)
        let early = reader.sweep()
        try await group.shutdownGracefully()
        for sweep in [early, reader.sweep()] {
            let found = await sweep.all()
            #expect(found.tuples.isEmpty)
            #expect(found.error?.code == .connectionLost)
        }
    }
}
