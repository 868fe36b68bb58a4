import Foundation
import Synchronization

/// The `openssl` program as an independent peer. The README names its package.
enum OpenSSLTool {
    struct Failure: Error, CustomStringConvertible {
        var description: String
    }

    /// The longest wait in a test. It only ends a test that hangs.
    static let deadline: TimeInterval = 300

    static func path() throws -> String {
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin").split(separator: ":")
        for folder in folders where FileManager.default.isExecutableFile(atPath: "\(folder)/openssl") {
            return "\(folder)/openssl"
        }
        throw Failure(description: "The openssl program is missing: install it with `apt-get install openssl`.")
    }

    /// Runs the program to its end and returns the output. Throws when the program fails.
    @discardableResult
    static func run(_ arguments: [String]) throws -> String {
        let process = try RunningTool(arguments)
        let (status, output) = try process.waitForExit()
        guard status == 0 else { throw Failure(description: "openssl \(arguments): \(output)") }
        return output
    }
}

/// A running `openssl` with its input and output. It is killed when the last reference is dropped.
final class RunningTool: Sendable {
    private struct State {
        var output = Data()
        var hasEnded = false
    }

    private final class SharedState: Sendable {
        private let state = Mutex(State())

        func withLock<Result>(_ body: (inout sending State) -> sending Result) -> sending Result {
            state.withLock(body)
        }
    }

    private static let starting = Mutex(())

    private let process: Process
    private let input: Pipe
    private let output: Pipe
    private let state = SharedState()
    private let changed = DispatchSemaphore(value: 0)

    init(_ arguments: [String]) throws {
        let process = Process()
        process.executableURL = URL(filePath: try OpenSSLTool.path())
        process.arguments = arguments
        // A program started at the same time must not inherit the ends of these pipes: it would keep them open.
        let pipes = try Self.starting.withLock { _ in
            let input = Pipe()
            let output = Pipe()
            for handle in [input.fileHandleForWriting, output.fileHandleForReading] {
                _ = fcntl(handle.fileDescriptor, F_SETFD, FD_CLOEXEC)
            }
            process.standardInput = input
            process.standardOutput = output
            process.standardError = output
            try process.run()
            return (input, output)
        }
        (input, output) = pipes
        self.process = process
        // A separate thread, because tests block the threads of the shared pools.
        let reading = pipes.1.fileHandleForReading
        Thread.detachNewThread { [state, changed] in
            while true {
                let bytes = reading.availableData
                state.withLock { state in
                    state.output.append(bytes)
                    if bytes.isEmpty { state.hasEnded = true }
                }
                changed.signal()
                if bytes.isEmpty { return }
            }
        }
    }

    deinit {
        self.end()
    }

    /// Kills the process: a child of a test run inherits a signal mask that blocks `terminate`.
    private func end() {
        guard self.process.isRunning else { return }
        kill(self.process.processIdentifier, SIGKILL)
        self.process.waitUntilExit()
    }

    func write(_ text: String) throws {
        try input.fileHandleForWriting.write(contentsOf: Data(text.utf8))
    }

    func closeInput() throws {
        try input.fileHandleForWriting.close()
    }

    /// Waits until the output meets a condition. Throws at the end of the output or at the deadline.
    @discardableResult
    func wait(until condition: (String) -> Bool) throws -> String {
        let deadline = DispatchTime.now() + OpenSSLTool.deadline
        while true {
            let (bytes, hasEnded) = state.withLock { ($0.output, $0.hasEnded) }
            let text = String(decoding: bytes, as: UTF8.self)
            if condition(text) { return text }
            guard !hasEnded, changed.wait(timeout: deadline) == .success else {
                throw OpenSSLTool.Failure(description: "openssl did not say what was expected, but: \(text)")
            }
        }
    }

    func waitForExit() throws -> (status: Int32, output: String) {
        try closeInput()
        let deadline = DispatchTime.now() + OpenSSLTool.deadline
        while !state.withLock({ $0.hasEnded }) {
            guard changed.wait(timeout: deadline) == .success else {
                self.end()
                throw OpenSSLTool.Failure(description: "openssl did not end in time.")
            }
        }
        process.waitUntilExit()
        return (process.terminationStatus, String(decoding: state.withLock { $0.output }, as: UTF8.self))
    }
}
