import Ferry
import FerryTesting
import Foundation
import Testing

@Suite(.timeLimit(.minutes(10))) struct PushFilesTests {
    /// Makes a FIFO and returns its path.
    static func fifo(_ directory: TemporaryDirectory) -> String {
        let path = directory.path("fifo")
        #expect(mkfifo(path, 0o600) == 0)
        return path
    }

    /// Reads a FIFO to its end. Returns nil if nothing comes for a minute. A usual open would wait for a writer for
    /// ever.
    private static func read(_ fifo: String) -> Data? {
        let file = open(fifo, O_RDONLY | O_NONBLOCK)
        defer { close(file) }
        var wanted = pollfd(fd: file, events: Int16(POLLIN), revents: 0)
        guard file >= 0, poll(&wanted, 1, 60_000) == 1, fcntl(file, F_SETFL, 0) == 0 else { return nil }
        return try? FileHandle(fileDescriptor: file).readToEnd()
    }

    @Test func `events to a FIFO without a reader are status 2 before anything is sent`() async throws {
        try await PushHarness.run { harness in
            let fifo = Self.fifo(harness.directory)
            let output = try await harness.push(harness.arguments(harness.lines(1...3)), "--events", fifo)
            #expect(output.status == 2)
            #expect(output.messages == "ferry: The events cannot be written: \(fifo): nobody reads it\n")
            #expect(harness.recorder.notifications.isEmpty)
        }
    }

    @Test func `events to a FIFO whose reader comes late are all there`() async throws {
        try await PushHarness.run { harness in
            let fifo = Self.fifo(harness.directory)
            let arguments = try harness.arguments(harness.lines(1...2000)) + ["--events", fifo]
            let program = try FerryProgram(arguments, in: harness.directory)
            // The separate thread may block, and need not wait for other tests.
            let (read, reader) = AsyncStream.makeStream(of: Data?.self)
            Thread.detachNewThread {
                reader.yield(Self.read(fifo))
                reader.finish()
            }
            #expect(try await program.output().status == 0)
            for await data in read { #expect(data?.count { $0 == UInt8(ascii: "\n") } == 2000) }
        }
    }

    @Test func `a FIFO whose reader has stopped does not hold the run beyond its limit`() async throws {
        try await PushHarness.run { harness in
            let fifo = Self.fifo(harness.directory)
            let end = open(fifo, O_RDWR)
            defer { close(end) }
            let output = try await harness.push(
                harness.arguments(harness.lines(1...2000)),
                "--events",
                fifo,
                "--drain-limit",
                "2"
            )
            // On a busy machine the limit may pass before there is a connection. That adds a complaint.
            #expect(output.status == 2 || output.status == 3)
            #expect(output.messages.hasPrefix("ferry: The events cannot be written: \(fifo): nobody reads it\n"))
            #expect(output.number("submitted") == 2000)
            #expect(output.settled == 2000)
        }
    }

    @Test func `a FIFO whose reader has stopped does not hold the run beyond the second interrupt`() async throws {
        try await PushHarness.run { harness in
            let fifo = Self.fifo(harness.directory)
            let end = open(fifo, O_RDWR)
            defer { close(end) }
            let arguments = try harness.arguments(harness.lines(1...200_000)) + ["--events", fifo]
            let program = try FerryProgram(arguments, in: harness.directory)
            #expect(try await eventually { harness.recorder.notifications.count >= 2000 })
            program.interrupt()
            #expect(try await eventually { try program.messages.contains("interrupted") })
            program.interrupt()
            let output = try await program.output()
            #expect(output.status == 2)
            #expect(output.messages.contains("\(fifo): nobody reads it\n"))
            #expect(output.settled == output.number("submitted"))
        }
    }

    @Test(arguments: [false, true])
    func `events to - go to standard output, and the summary to standard error`(isPipe: Bool) async throws {
        try await PushHarness.run { harness in
            let arguments = try harness.arguments(harness.lines(1...2000)) + ["--events", "-"]
            let directory = harness.directory.path("")
            let shell = "cd '\(directory)'; " + (isPipe ? "\"$@\" | cat" : "exec \"$@\"")
            let output = try await FerryProgram.run(arguments, in: harness.directory, shell: shell)
            #expect(output.status == 0)
            let lines = output.result.split(separator: "\n")
            #expect(lines.count == 2000)
            #expect(lines.allSatisfy { $0.hasPrefix("{\"ref\"") && $0.contains("\"outcome\":\"accepted\"") })
            #expect(output.messages.contains("submitted"), "\(output.messages)")
            #expect(!FileManager.default.fileExists(atPath: harness.directory.path("-")))
        }
    }

    @Test func `events that would overwrite the input are refused, by whatever name`() async throws {
        try await PushHarness.run { harness in
            let lines = try harness.lines(1...3)
            let text = try harness.directory.read("lines")
            let (link, hard) = (harness.directory.path("link"), harness.directory.path("hard"))
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: lines)
            try FileManager.default.linkItem(atPath: lines, toPath: hard)
            for name in [lines, link, hard] {
                let output = try await harness.push(harness.arguments(lines), "--events", name)
                #expect(output.status == 2)
                #expect(
                    output.messages
                        == "ferry: The events would overwrite the input; give --events a file of its own.\n"
                )
            }
            let output = try await FerryProgram.run(
                harness.arguments("-") + ["--events", lines],
                in: harness.directory,
                shell: #"exec "$@" <'\#(lines)'"#
            )
            #expect(output.status == 2)
            #expect(try harness.directory.read("lines") == text)
            #expect(harness.recorder.notifications.isEmpty)
        }
    }

    @Test(arguments: [(">", "the summary on standard output"), ("2>", "the messages on standard error")])
    func `events do not share a file with what the program says`(redirection: String, words: String) async throws {
        try await PushHarness.run { harness in
            let events = harness.directory.path("events")
            let output = try await FerryProgram.run(
                harness.arguments(harness.lines(1...3)) + ["--events", events],
                in: harness.directory,
                shell: #"exec "$@" \#(redirection)'\#(events)'"#
            )
            #expect(output.status == 2)
            let said = try output.messages + harness.directory.read("events")
            #expect(said == "ferry: The events would overwrite \(words); give --events a file of its own.\n")
        }
    }

    @Test func `events and input may both be nothing`() async throws {
        try await PushHarness.run { harness in
            let output = try await harness.push(harness.arguments("/dev/null"), "--events", "/dev/null")
            #expect(output.status == 0)
        }
    }

    @Test func `events on a full disk are status 2, and every outcome is counted`() async throws {
        try await PushHarness.run { harness in
            let output = try await harness.push(
                harness.arguments(harness.lines(1...3)),
                "--events",
                "/dev/full"
            )
            #expect(output.status == 2)
            #expect(
                output.messages == "ferry: The events cannot be written: /dev/full: No space left on device\n"
            )
            #expect(output.settled == 3)
        }
    }
}
