import CFerry
import Dispatch
import FerryCore
import Synchronization
import Testing

@testable import FerryC

/// The writer of a feedback file, before a disk of the test's own.
@Suite(.timeLimit(.minutes(5))) struct FeedbackWriterTests {
    /// A disk that takes a line for each permission, and a sink.
    private final class Scene: OutcomeSink {
        let permissions = DispatchSemaphore(value: 0)
        /// What was written and told, in order.
        let course = Mutex<[String]>([])

        func settled(_ outcomes: Span<OutcomeRecord>) {
            let tags = outcomes.indices.map { outcomes[$0].tag.rawValue }
            self.course.withLock { $0.append(contentsOf: tags.map { "told \($0)" }) }
        }

        func makeWriter() -> FeedbackWriter {
            FeedbackWriter { line in
                self.permissions.wait()
                let token = String(decoding: line, as: UTF8.self).split(separator: "\"")[3]
                self.course.withLock { $0.append("wrote \(token)") }
            }
        }

        func permit(_ count: Int) { for _ in 0..<count { self.permissions.signal() } }
    }

    private static func tell(_ tag: UInt64, _ sink: any OutcomeSink) {
        Self.tell(tag...tag, sink)
    }

    private static func tell(_ tags: ClosedRange<UInt64>, _ sink: any OutcomeSink) {
        let records = tags.map { OutcomeRecord(tag: PushTag($0), outcome: .accepted(.confirmed)) }
        sink.settled(records.span)
    }

    private static func submit(_ tag: UInt64, to handle: Handle) -> Int? {
        record(tag).withUnsafeBufferPointer { handle.submit($0)?.count }
    }

    private static func device(_ number: UInt8) throws -> DeviceToken { try DeviceToken([number]) }

    @Test func `an outcome is reported after the lines before it, and no caller waits for the disk`() throws {
        let scene = Scene()
        let writer = scene.makeWriter()
        let sink = writer.before(scene)
        Self.tell(1, sink)
        writer.add(try Self.device(0xa1), goneSince: nil)
        Self.tell(2, sink)
        writer.add(try Self.device(0xa2), goneSince: nil)
        Self.tell(3, sink)
        #expect(scene.course.withLock { $0 } == ["told 1"])
        scene.permit(2)
        writer.flush(milliseconds: 60_000)
        #expect(scene.course.withLock { $0 } == ["told 1", "wrote a1", "told 2", "wrote a2", "told 3"])
        Self.tell(4, sink)
        #expect(scene.course.withLock { $0.last } == "told 4")
    }

    @Test func `an end does not wait for a disk that hangs, and tells every outcome`() throws {
        let scene = Scene()
        let writer = scene.makeWriter()
        let sink = writer.before(scene)
        writer.add(try Self.device(1), goneSince: nil)
        writer.add(try Self.device(2), goneSince: nil)
        for tag in UInt64(1)...3 { Self.tell(tag, sink) }
        writer.flush(milliseconds: 1)
        #expect(scene.course.withLock { $0 } == ["told 1", "told 2", "told 3"])
        scene.permit(2)
        writer.flush(milliseconds: 60_000)
        #expect(scene.course.withLock { $0.suffix(2) } == ["wrote 01", "wrote 02"])
    }

    @Test func `while a disk hangs no outcome is lost or told early, and there is a bound`() throws {
        let scene = Scene()
        let writer = scene.makeWriter()
        let sink = writer.before(scene)
        #expect(writer.room == FeedbackWriter.limit)
        writer.add(try Self.device(1), goneSince: nil)
        // One group of many outcomes counts as many.
        let limit = UInt64(FeedbackWriter.limit)
        Self.tell(1...limit / 2, sink)
        #expect((FeedbackWriter.limit / 2 - 1...FeedbackWriter.limit / 2).contains(writer.room))
        Self.tell(limit / 2 + 1...limit, sink)
        #expect(writer.room == 0)
        // The provider had these before.
        writer.add(try Self.device(2), goneSince: nil)
        Self.tell(limit + 1...limit + 10, sink)
        #expect(scene.course.withLock { $0.isEmpty })
        scene.permit(2)
        writer.flush(milliseconds: 60_000)
        let course = scene.course.withLock { $0 }
        #expect(course.count == Int(limit) + 12)
        #expect(course.first == "wrote 01" && course[Int(limit) + 1] == "wrote 02")
        #expect(writer.lostCount == 0)
        #expect(writer.room == FeedbackWriter.limit)
    }

    @Test func `a handle takes nothing while too many outcomes wait for the disk, and hears of room`() throws {
        let scene = Scene()
        let writer = scene.makeWriter()
        let mailbox = try #require(Mailbox(keeping: .all, limit: 10))
        let echo = Echo(writer.before(mailbox), goneDevices: nil)
        let handle = Handle(
            .own(.echo(echo), closing: try #require(Latch())),
            mailbox: mailbox,
            settings: .init(),
            goneDevices: writer
        )
        #expect(Self.submit(1, to: handle) == 1)
        writer.add(try Self.device(1), goneSince: nil)
        Self.tell(1...UInt64(FeedbackWriter.limit), writer.before(scene))
        #expect(Self.submit(2, to: handle) == 0)
        #expect(mailbox.ready & FERRY_READY_ROOM == 0)
        scene.permit(1)
        writer.flush(milliseconds: 60_000)
        #expect(mailbox.ready & FERRY_READY_ROOM != 0)
        #expect(Self.submit(2, to: handle) == 1)
    }

    @Test func `a handle that closes hears its outcomes that wait for the disk, and those of others wait on`() throws {
        let scene = Scene()
        let writer = scene.makeWriter()
        let router = TagRouter()
        let provider = SharedProvider(
            .echo(Echo(writer.before(router), goneDevices: nil)),
            router: router,
            migration: nil,
            config: nil,
            goneDevices: writer,
            options: "",
            merged: "",
            handleLimit: 10
        )
        let handles = try (0..<2).map { _ in
            Handle(
                .shared(provider, isClosed: Monitor(false)),
                mailbox: try #require(Mailbox(keeping: .all, limit: 10, isShared: true)),
                settings: .init(),
                goneDevices: writer
            )
        }
        writer.add(try Self.device(1), goneSince: nil)
        for tag in UInt64(1)...3 {
            for handle in handles { #expect(Self.submit(tag, to: handle) == 1) }
        }
        handles[0].close(within: .milliseconds(1))
        #expect(handles[0].numbers().confirmed == 3 && handles[0].numbers().uncertain == 0)
        #expect(handles[1].numbers().unsettled == 3)
        scene.permit(1)
        handles[1].close(within: .seconds(60))
        #expect(handles[1].numbers().confirmed == 3)
        #expect(handles[0].numbers().confirmed == 3)
    }
}
