import Foundation
import Testing

/// `Tests/Fuzz`.
private let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()

/// The committed inputs of the fuzz targets, in `Corpora`.
@Suite struct CorpusTests {
    /// A target stops its process where its property does not hold. So each has a process of its own here.
    @Test(arguments: fuzzTargets.keys.sorted())
    func `a fuzz target holds for its committed inputs`(target: String) async throws {
        let messages = FileManager.default.temporaryDirectory.appending(path: "ferry-fuzz-\(UUID())")
        try Data().write(to: messages)
        defer { try? FileManager.default.removeItem(at: messages) }
        let result = await #expect(processExitsWith: .success) {
            [target = target as String, path = messages.path as String] in
            try replay(target, messages: path)
        }
        guard result == nil else { return }
        // Without the addresses that the runtime adds to its message.
        let words = try String(contentsOf: messages, encoding: .utf8)
        Issue.record("\(target) does not hold for \(words.components(separatedBy: "\nCurrent stack trace")[0])")
    }

    @Test func `each file in Targets is a target, and each target has committed inputs`() throws {
        let names = fuzzTargets.keys.sorted()
        #expect(try self.names(in: "Sources/Targets", endingIn: ".swift") == names)
        #expect(try self.names(in: "Corpora", endingIn: "") == names)
    }

    private func names(in folder: String, endingIn suffix: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: root.appending(path: folder).path)
            .filter { $0.hasSuffix(suffix) }
            .map { String($0.dropLast(suffix.count)) }
            // The dictionaries beside the corpora are for libFuzzer.
            .filter { !$0.contains(".") }
            .sorted()
    }
}

/// Gives a target its committed inputs.
///
/// - Parameter path: a file, for the path of the current input and what the process writes to its standard error then.
private func replay(_ target: String, messages path: String) throws {
    let messages = try FileHandle(forWritingTo: URL(filePath: path))
    dup2(messages.fileDescriptor, STDERR_FILENO)
    let fuzz = try #require(fuzzTargets[target])
    let folder = root.appending(path: "Corpora/\(target)")
    for input in try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() {
        // A signal ends the process if the input hangs.
        alarm(600)
        try messages.truncate(atOffset: 0)
        try messages.write(contentsOf: Data("Tests/Fuzz/Corpora/\(target)/\(input)\n".utf8))
        let bytes = try Array(Data(contentsOf: folder.appending(path: input)))
        bytes.withUnsafeBufferPointer { bytes in
            var input = FuzzInput(bytes)
            fuzz(&input)
        }
    }
}
