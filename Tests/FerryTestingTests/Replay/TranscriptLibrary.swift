internal import FerryTesting
internal import Foundation
internal import Testing

/// The transcripts of the tree, in `Tests/Transcripts`.
enum TranscriptLibrary {
    /// A transcript, with the name of its file.
    struct Entry: Sendable, CustomTestStringConvertible {
        var name: String
        var path: String

        var testDescription: String { self.name }

        func load() throws -> Transcript { try Transcript(contentsOfFile: self.path) }
    }

    /// Sessions of Ferry's client machine.
    static var client: [Entry] { self.entries("client") }
    /// Sessions of other clients, with the answers that the simulated gateway must give.
    static var legacy: [Entry] { self.entries("legacy") }

    /// The seeds of random delays. `FERRY_SCHEDULES` changes their number.
    static let delaySeeds =
        0..<(ProcessInfo.processInfo.environment["FERRY_SCHEDULES"].flatMap(UInt64.init) ?? 500)

    private static func entries(_ folder: String) -> [Entry] {
        let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let directory = tests.appending(path: "Transcripts/\(folder)")
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory.path)) ?? []
        return names.filter { $0.hasSuffix(".transcript") }.sorted().map { name in
            Entry(name: String(name.dropLast(11)), path: directory.appending(path: name).path)
        }
    }
}

extension Transcript {
    /// Returns the number of bytes that a side sends, on one connection or on all.
    func byteCount(of sender: Side, on connection: Int? = nil) -> Int {
        self.events.reduce(0) { sum, event in
            guard event.sender == sender, connection == nil || event.connection == connection,
                case .bytes(let bytes) = event.kind
            else { return sum }
            return sum + bytes.count
        }
    }
}
