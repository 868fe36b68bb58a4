import FerryTesting
import Foundation
import Testing

@Suite(.timeLimit(.minutes(10))) struct StandardStreamsTests {
    @Test func `a summary that cannot be written is status 2 and one sentence`() async throws {
        try await PushHarness.run { harness in
            for options in [[], ["--json"]] {
                let arguments = try harness.arguments(harness.lines(1...3)).filter { $0 != "--json" } + options
                let output = try await FerryProgram.run(
                    arguments,
                    in: harness.directory,
                    shell: #"exec "$@" >/dev/full"#
                )
                #expect(output.status == 2)
                #expect(
                    output.messages
                        == "ferry: The result cannot be written to standard output: No space left on device\n"
                )
            }
        }
    }

    @Test func `a summary that cannot be written does not hide that there was no connection`() async throws {
        try await PushHarness.run { harness in
            await harness.gateway.stop()
            let output = try await FerryProgram.run(
                harness.arguments(harness.lines(1...3)),
                in: harness.directory,
                shell: #"exec "$@" >/dev/full"#
            )
            #expect(output.status == 3)
            #expect(output.messages.contains("refused"))
            #expect(output.messages.contains("No space left on device"))
        }
    }

    @Test(arguments: [["--help"], ["simulate", "--binary", "0"], ["demo"], ["bench", "binary", "--count", "1000"]])
    func `any result that cannot be written is status 2`(arguments: [String]) async throws {
        try await TemporaryDirectory.with { directory in
            let output = try await FerryProgram.run(arguments, in: directory, shell: #"exec "$@" >/dev/full"#)
            #expect(output.status == 2)
            #expect(output.messages.hasSuffix("No space left on device\n"), "\(output.messages)")
        }
    }

    @Test func `what is said on closed streams goes into no file and to no gateway`() async throws {
        try await PushHarness.run { harness in
            let lines = (1...50).map { "\(PushHarness.line($0))\nthis is no line\n" }.joined()
            let file = try harness.directory.write("lines", lines)
            let events = harness.directory.path("events")
            let output = try await FerryProgram.run(
                harness.arguments(file) + ["--events", events, "--verbose"],
                in: harness.directory,
                shell: #"exec "$@" <&- >&- 2>&-"#
            )
            #expect(output.status == 2)
            #expect(harness.recorder.notifications.count == 50)
            let written = try harness.directory.read("events").split(separator: "\n")
            #expect(written.count == 50)
            #expect(written.allSatisfy { $0.contains(#""outcome":"accepted""#) })
        }
    }

    @Test func `closed standard input is no empty input`() async throws {
        try await PushHarness.run { harness in
            let output = try await FerryProgram.run(
                harness.arguments("-"),
                in: harness.directory,
                shell: #"exec "$@" <&-"#
            )
            #expect(output.status == 2)
            #expect(
                output.messages == "ferry: The input cannot be read: standard input: Bad file descriptor\n",
                "\(output.messages)"
            )
        }
    }
}
