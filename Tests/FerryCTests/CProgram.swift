import Foundation
import Testing

/// A program in C that is compiled against `ferry.h` and the library of this build, in a directory of its own.
struct CProgram {
    /// A compiler, and the language that it is asked for.
    enum Language: String, CaseIterable {
        case c99 = "-xc -std=c99"
        case cpp = "-xc++"
    }

    static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()
    /// Where the library is: beside the program of the tests.
    private static let products = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()

    /// Runs the compiler that comes with Swift. Only swift may be in the path.
    private static let compile = #"""
        exec "$(command -v clang || echo "$(dirname "$(readlink -f "$(command -v swift)")")/clang")" "$@"
        """#

    let directory: URL

    struct Result {
        var status: Int32
        var output: String
    }

    /// Compiles a source, below the package's root or with an absolute path, with every warning as an error.
    static func with(_ source: String, as language: Language, _ body: (CProgram) async throws -> Void) async throws {
        _ = Library.keepsSIGPIPEIgnored
        let directory = FileManager.default.temporaryDirectory.appending(path: "ferry-c-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let program = CProgram(directory: directory)
        let flags = language.rawValue.split(separator: " ").map(String.init)
        let compiled = try await program.run(
            "/bin/sh",
            ["-c", Self.compile, "sh"] + flags + [
                "-Wall", "-Wextra", "-pedantic", "-Werror", URL(filePath: source, relativeTo: self.root).path(),
            ]
                + ["-I", self.root.appending(path: "Sources/CFerry/include").path()]
                + ["-L", self.products.path(), "-lferryc", "-lpthread", "-Wl,-rpath,\(self.products.path())"]
                + ["-o", "program"]
        )
        try #require(compiled.status == 0, "\(compiled.output)")
        try await body(program)
    }

    func shell(_ line: String) async throws -> Result { try await self.run("/bin/sh", ["-c", line]) }

    func run(_ arguments: [String]) async throws -> Result {
        try await self.run(self.directory.appending(path: "program").path(), arguments)
    }

    private func run(_ path: String, _ arguments: [String]) async throws -> Result {
        let process = Process()
        process.executableURL = URL(filePath: path)
        process.arguments = arguments
        process.currentDirectoryURL = self.directory
        let output = self.directory.appending(path: "output")
        _ = FileManager.default.createFile(atPath: output.path(), contents: nil)
        let file = try FileHandle(forWritingTo: output)
        process.standardOutput = file
        process.standardError = file
        await withCheckedContinuation { continuation in
            process.terminationHandler = { _ in continuation.resume() }
            do {
                try process.run()
            } catch {
                Issue.record(error)
                process.terminationHandler = nil
                continuation.resume()
            }
        }
        try file.close()
        return Result(status: process.terminationStatus, output: try String(contentsOf: output, encoding: .utf8))
    }
}
