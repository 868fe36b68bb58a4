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
            FeedbackWriter { device, _ in
                self.permissions.wait()
                self.course.withLock { $0.append("wrote \(device.hex)") }
            }
        }

        func permit(_ count: Int) { for _ in 0..<count { self.permissions.signal() } }
    }

    private static func tell(_ tag: UInt64, _ sink: any OutcomeSink) {
        let records = [OutcomeRecord(tag: PushTag(tag), outcome: .accepted(.confirmed))]
        sink.settled(records.span)
    }

    private static func device(_ number: UInt8) throws -> DeviceToken { try DeviceToken([number]) }

    @Test func `an outcome is told behind the lines before it, and no caller waits for the disk`() throws {
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

    @Test func `what a disk that hangs does not take is bounded and counted`() throws {
        let scene = Scene()
        let writer = scene.makeWriter()
        let sink = writer.before(scene)
        let device = try Self.device(1)
        for _ in 0..<FeedbackWriter.limit + 10 { writer.add(device, goneSince: nil) }
        // The thread may have taken the first.
        #expect((9...10).contains(writer.lostCount))
        Self.tell(7, sink)
        #expect(scene.course.withLock { $0 } == ["told 7"])
        scene.permit(FeedbackWriter.limit + 10)
        writer.flush(milliseconds: 60_000)
        #expect(scene.course.withLock { $0.count } + writer.lostCount == FeedbackWriter.limit + 11)
    }
}
