import Foundation
import Synchronization
import Testing

@testable import FerryTerminal

@Suite(.timeLimit(.minutes(10))) struct MessageWriterTests {
    /// A standard error that takes nothing until it is opened.
    private final class Valve: Sendable {
        let lines = Mutex<[String]>([])
        let gate = DispatchSemaphore(value: 0)

        func say(_ line: String) {
            self.gate.wait()
            self.gate.signal()
            self.lines.withLock { $0.append(line) }
        }
    }

    private static let valve = Valve()
    private static let writer = MessageWriter { valve.say($0) }

    @Test func `messages that nobody reads are dropped, and their number is said when there is room again`() async {
        for number in 0..<MessageWriter.limit + 7 { Self.writer.write("\(number)") }
        Self.valve.gate.signal()
        await Self.writer.flush(within: .seconds(300))
        // A message has no bound of its own: all of them together have one.
        Self.writer.write(String(repeating: "a", count: MessageWriter.lengthLimit + 1))
        Self.writer.write("last")
        await Self.writer.flush(within: .seconds(300))
        let lines = Self.valve.lines.withLock { $0 }
        #expect(lines.first == "0")
        #expect(lines.contains("ferry: standard error was not read, and 7 messages were dropped"))
        #expect(lines.suffix(2) == ["last", "ferry: standard error was not read, and 1 messages were dropped"])
        #expect(lines.count == MessageWriter.limit + 3)
        #expect(Self.writer.dropped == 8)
    }
}
