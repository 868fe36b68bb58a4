import FerryTesting
import Foundation
import Testing

@Suite(.timeLimit(.minutes(10))) struct PushInterruptTests {
    @Test(arguments: [[], ["--rate", "5"]])
    func `an interrupt ends endless input, and everything submitted has its outcome`(options: [String]) async throws {
        try await PushHarness.run { harness in
            let pipe = Pipe()
            let program = try FerryProgram(
                harness.arguments("-") + options,
                in: harness.directory,
                input: pipe.fileHandleForReading
            )
            let lines = (1...3).map { PushHarness.line($0) + "\n" }.joined()
            try pipe.fileHandleForWriting.write(contentsOf: Data(lines.utf8))
            #expect(try await eventually { harness.recorder.notifications.count == 3 })
            program.interrupt()
            let output = try await program.output()
            #expect(output.status == 1)
            #expect(
                output.messages.hasSuffix("ferry: Interrupted; stopped after line 3. What follows was not sent.\n"),
                "\(output.messages)"
            )
            #expect(output.number("submitted") == 3)
            #expect(output.settled == 3)
            try pipe.fileHandleForWriting.close()
        }
    }

    @Test func `an interrupt in the middle of a file says where to go on`() async throws {
        try await PushHarness.run { harness in
            let arguments = try harness.arguments(harness.lines(1...1000)) + ["--rate", "5"]
            let program = try FerryProgram(arguments, in: harness.directory)
            #expect(try await eventually { harness.recorder.notifications.count >= 5 })
            program.terminate()
            let output = try await program.output()
            #expect(output.status == 1)
            let count = try #require(output.number("submitted"))
            #expect((5..<1000).contains(count))
            #expect(harness.recorder.notifications.count == count)
            #expect(output.messages.contains("stopped after line \(count). "), "\(output.messages)")
        }
    }

    @Test func `an interrupt after the whole input was read leaves the status to the outcomes`() async throws {
        try await PushHarness.run { harness in
            let arguments = try harness.arguments(harness.lines(1...3)) + ["--settle-time", "2", "--verbose"]
            let program = try FerryProgram(arguments, in: harness.directory)
            #expect(try await eventually { try program.messages.contains("the input was read to its end") })
            program.interrupt()
            let output = try await program.output()
            #expect(output.status == 0)
            #expect(!output.messages.contains("stopped"), "\(output.messages)")
        }
    }

    @Test func `the second interrupt does not wait, and is honest about it`() async throws {
        // The gateway stops reading, so nothing settles.
        try await PushHarness.run(GatewayScript(rules: [.end(by: .stopReading, after: 1)])) { harness in
            let arguments = try harness.arguments(harness.lines(1...100_000)) + ["--settle-time", "3600"]
            let program = try FerryProgram(arguments, in: harness.directory)
            #expect(try await eventually { harness.recorder.notifications.count == 1 })
            program.interrupt()
            // Two signals sent at once may be delivered as one.
            #expect(try await eventually { try program.messages.contains("interrupted") })
            program.interrupt()
            let output = try await program.output()
            #expect(output.status == 1)
            #expect(output.settled == output.number("submitted"))
            #expect(output.number("uncertain") ?? 0 > 0)
        }
    }

    @Test func `a hangup is an interrupt`() async throws {
        try await PushHarness.run { harness in
            let pipe = Pipe()
            let program = try FerryProgram(
                harness.arguments("-"),
                in: harness.directory,
                input: pipe.fileHandleForReading
            )
            try pipe.fileHandleForWriting.write(contentsOf: Data("\(PushHarness.line(1))\n".utf8))
            #expect(try await eventually { harness.recorder.notifications.count == 1 })
            program.hangUp()
            let output = try await program.output()
            #expect(output.status == 1)
            #expect(output.settled == 1)
            #expect(output.messages.contains("stopped after line 1. "), "\(output.messages)")
            try pipe.fileHandleForWriting.close()
        }
    }

    @Test func `a hangup that is ignored, as under nohup, stays ignored`() async throws {
        try await PushHarness.run { harness in
            let pipe = Pipe()
            let program = try FerryProgram(
                harness.arguments("-"),
                in: harness.directory,
                input: pipe.fileHandleForReading,
                shell: #"trap '' HUP; exec "$@""#
            )
            try pipe.fileHandleForWriting.write(contentsOf: Data("\(PushHarness.line(1))\n".utf8))
            #expect(try await eventually { harness.recorder.notifications.count == 1 })
            program.hangUp()
            try pipe.fileHandleForWriting.write(contentsOf: Data("\(PushHarness.line(2))\n".utf8))
            try pipe.fileHandleForWriting.close()
            let output = try await program.output()
            #expect(output.status == 0)
            #expect(output.settled == 2)
            #expect(output.messages == "")
        }
    }

    @Test func `a run that gave up says how to try longer, and where to go on`() async throws {
        try await PushHarness.run { harness in
            await harness.gateway.stop()
            let pipe = Pipe()
            let program = try FerryProgram(
                harness.arguments("-") + ["--connection-retry-limit", "1"],
                in: harness.directory,
                input: pipe.fileHandleForReading
            )
            try pipe.fileHandleForWriting.write(contentsOf: Data("\(PushHarness.line(1))\n".utf8))
            let output = try await program.output()
            #expect(output.status == 3)
            // After a second without a connection, people are told early.
            let sentences = output.messages.split(separator: "\n").filter { !$0.hasSuffix(" It is tried again.") }
            #expect(sentences.count == 2)
            #expect(
                sentences.first?.contains(" s 2 connections in a row failed; what was queued is given up. ") == true
            )
            #expect(sentences.first?.contains("To try longer, raise --connection-retry-time") == true)
            #expect(sentences.last == "ferry: The run stopped after line 1. What follows was not sent.")
            try pipe.fileHandleForWriting.close()
        }
    }

    @Test func `a run that waits for a connection says why before it gives up, once`() async throws {
        try await PushHarness.run { harness in
            await harness.gateway.stop()
            let program = try FerryProgram(
                harness.arguments(harness.lines(1...3)) + ["--connection-retry-limit", "0"],
                in: harness.directory
            )
            #expect(try await eventually { try program.messages.hasSuffix(" It is tried again.\n") })
            program.interrupt()
            #expect(try await eventually { try program.messages.contains("interrupted") })
            program.interrupt()
            let output = try await program.output()
            #expect(output.messages.contains("check host and port, and that the server runs. It is tried again.\n"))
            #expect(output.messages.split(separator: " ").filter { $0 == "tried" }.count == 1)
        }
    }

    @Test func `an interrupt before there was a connection says why there was none`() async throws {
        try await PushHarness.run { harness in
            await harness.gateway.stop()
            let pipe = Pipe()
            let program = try FerryProgram(
                harness.arguments("-") + ["--connection-retry-limit", "0", "--verbose"],
                in: harness.directory,
                input: pipe.fileHandleForReading
            )
            try pipe.fileHandleForWriting.write(contentsOf: Data("\(PushHarness.line(1))\n".utf8))
            #expect(try await eventually { try program.messages.contains("refused") })
            program.interrupt()
            #expect(try await eventually { try program.messages.contains("interrupted") })
            program.interrupt()
            let output = try await program.output()
            #expect(output.status == 3)
            #expect(output.number("undelivered") == 1)
            let sentences = output.messages.split(separator: "\n").suffix(2)
            #expect(sentences.first?.hasPrefix("ferry: No connection to localhost:") == true, "\(sentences)")
            #expect(sentences.last == "ferry: Interrupted; stopped after line 1. What follows was not sent.")
            try pipe.fileHandleForWriting.close()
        }
    }
}
