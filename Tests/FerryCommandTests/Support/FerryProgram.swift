import Foundation
import Synchronization

/// The built `ferry`, run as a separate process.
final class FerryProgram: Sendable {
    struct Output: Sendable {
        var status: Int32
        var result: String
        var messages: String

        /// The output, parsed as one JSON object.
        var summary: [String: Any] {
            (try? JSONSerialization.jsonObject(with: Data(self.result.utf8))) as? [String: Any] ?? [:]
        }

        func number(_ name: String) -> Int? { self.summary[name] as? Int }

        /// The sum of the six outcomes.
        var settled: Int {
            let accepted = self.summary["accepted"] as? [String: Int] ?? [:]
            return accepted.values.reduce(0, +)
                + ["rejected", "expired", "undelivered", "uncertain"].reduce(0) { $0 + (self.number($1) ?? 0) }
        }
    }

    private let process: Mutex<Process>
    private let exit: Task<Int32, Never>
    private let directory: TemporaryDirectory
    private let name: String

    /// Starts the program.
    ///
    /// - Parameter shell: a script for `sh` that starts the program with `exec "$@"`.
    init(
        _ arguments: [String],
        in directory: TemporaryDirectory,
        input: FileHandle = .nullDevice,
        shell: String? = nil
    ) throws {
        let name = UUID().uuidString
        let process = Process()
        process.executableURL = shell == nil ? Self.url : URL(filePath: "/bin/sh")
        process.arguments = shell.map { ["-c", $0, "sh", Self.url.path] + arguments } ?? arguments
        process.standardInput = input
        let result = try FileHandle(forWritingTo: URL(filePath: directory.write("\(name).out", "")))
        let messages = try FileHandle(forWritingTo: URL(filePath: directory.write("\(name).err", "")))
        process.standardOutput = result
        process.standardError = messages
        let (statuses, continuation) = AsyncStream.makeStream(of: Int32.self)
        process.terminationHandler = { process in
            continuation.yield(process.terminationStatus)
            continuation.finish()
        }
        try process.run()
        // The process keeps both for ever. With 1,300 open files, Foundation crashes when it starts a program.
        try result.close()
        try messages.close()
        self.process = Mutex(process)
        self.exit = Task {
            for await status in statuses { return status }
            return -1
        }
        self.directory = directory
        self.name = name
    }

    deinit {
        self.process.withLock { if $0.isRunning { $0.terminate() } }
    }

    /// Runs the program to its end.
    static func run(
        _ arguments: [String],
        in directory: TemporaryDirectory,
        shell: String? = nil
    ) async throws -> Output {
        try await FerryProgram(arguments, in: directory, shell: shell).output()
    }

    /// The output on standard output so far.
    var result: String {
        get throws { try self.directory.read("\(self.name).out") }
    }

    /// The messages on standard error so far.
    var messages: String {
        get throws { try self.directory.read("\(self.name).err") }
    }

    /// Waits for the program's end. When the test is cancelled, kills the program.
    func output() async throws -> Output {
        let status = await withTaskCancellationHandler {
            await self.exit.value
        } onCancel: {
            _ = self.process.withLock { kill($0.processIdentifier, SIGKILL) }
        }
        return Output(status: status, result: try self.result, messages: try self.messages)
    }

    var processIdentifier: Int32 { self.process.withLock { $0.processIdentifier } }

    /// Whether the program ends in time.
    func ends(within limit: Duration) async -> Bool {
        (try? await eventually(within: limit) { self.process.withLock { !$0.isRunning } }) ?? false
    }

    /// Sends SIGINT.
    func interrupt() {
        self.process.withLock { $0.interrupt() }
    }

    /// Sends SIGHUP.
    func hangUp() {
        _ = self.process.withLock { kill($0.processIdentifier, SIGHUP) }
    }

    /// Sends SIGTERM.
    func terminate() {
        self.process.withLock { $0.terminate() }
    }

    /// Sends SIGKILL, and waits for the end.
    func killAndWait() async {
        self.process.withLock { _ = kill($0.processIdentifier, SIGKILL) }
        _ = await self.exit.value
    }

    /// The program is in the directory of the tests.
    private static var url: URL {
        let tests = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
        return tests.appending(path: "ferry")
    }
}

/// Waits until another process has met the condition. Returns false if it hangs.
func eventually(within limit: Duration = .seconds(300), _ condition: () throws -> Bool) async throws -> Bool {
    let deadline = ContinuousClock.now + limit
    while try !condition() {
        guard ContinuousClock.now < deadline else { return false }
        try await Task.sleep(for: .milliseconds(5))
    }
    return true
}
