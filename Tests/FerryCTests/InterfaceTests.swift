import CFerry
import FerryCore
import Foundation
import Testing

/// Compares the committed list of the interface with the header, the library and what Swift sees. A program that was built
/// with an older header relies on every line of the list.
@Suite struct InterfaceTests {
    private func lines(_ kind: String) throws -> Set<String> {
        let url = try #require(Bundle.module.url(forResource: "abi", withExtension: "txt"))
        let lines = try String(contentsOf: url, encoding: .utf8).split(separator: "\n").map(String.init)
        return Set(lines.filter { $0.hasPrefix(kind + " ") }.map { String($0.dropFirst(kind.count + 1)) })
    }

    private func header() throws -> String {
        let url = CProgram.root.appending(path: "Sources/CFerry/include/ferry.h")
        return try String(contentsOf: url, encoding: .utf8).replacing(/\/\*[\s\S]*?\*\//, with: "")
    }

    @Test func `the header declares the listed functions`() throws {
        let declared = try self.header().matches(of: /\b(ferry_\w+)\(/).map { String($0.output.1) }
        #expect(Set(declared) == (try self.lines("function")))
    }

    @Test func `the header defines the listed values`() throws {
        let defined = try self.header().matches(of: /#define (FERRY_\w+) \(?(-?\d+)\)?/)
            .map { "\($0.output.1) \($0.output.2)" }
        #expect(Set(defined) == (try self.lines("value")))
    }

    @Test func `each push type has its value, named as the type`() throws {
        let listed = try self.lines("value").filter { $0.hasPrefix("FERRY_PUSH_") }
            .map { $0.dropFirst("FERRY_PUSH_".count).replacing("_", with: "").lowercased() }
        #expect(Set(listed) == Set(PushType.allCases.map { "\($0.rawValue) \($0.code)" }))
    }

    @Test func `reasons have the listed numbers`() throws {
        let listed = try self.lines("reason")
        let known = Reason.table.map { row in
            "\(row.number) \(ferry_reason_text(UInt32(row.number)).map { String(cString: $0) } ?? "")"
        }
        #expect(Set(known) == listed)
        #expect(Set(Reason.table.map { "\($0.number) \($0.reason)" }) == listed)
    }

    @Test func `structures have the listed sizes and offsets`() throws {
        #expect(
            try self.lines("size") == [
                "ferry_outcome \(MemoryLayout<ferry_outcome>.size)",
                "ferry_numbers \(MemoryLayout<ferry_numbers>.size)",
            ]
        )
        let outcome: [(String, PartialKeyPath<ferry_outcome>)] = [
            ("tag", \.tag), ("outcome", \.outcome), ("detail", \.detail), ("status", \.status), ("reason", \.reason),
            ("legacy", \.legacy), ("flags", \.flags), ("timestamp", \.timestamp), ("apns_id", \.apns_id),
        ]
        let numbers: [(String, PartialKeyPath<ferry_numbers>)] = [
            ("taken", \.taken), ("unsettled", \.unsettled), ("unread", \.unread), ("confirmed", \.confirmed),
            ("presumed", \.presumed), ("rejected", \.rejected), ("expired", \.expired),
            ("undelivered", \.undelivered), ("uncertain", \.uncertain), ("contradicted", \.contradicted),
            ("resent", \.resent),
        ]
        let offsets =
            outcome.map { "ferry_outcome.\($0) \(MemoryLayout<ferry_outcome>.offset(of: $1) ?? -1)" }
            + numbers.map { "ferry_numbers.\($0) \(MemoryLayout<ferry_numbers>.offset(of: $1) ?? -1)" }
        #expect(Set(offsets) == (try self.lines("offset")))
    }

    @Test func `the library has the listed functions`() async throws {
        let functions = try self.lines("function").sorted()
        let table = functions.map { "(any)\($0)" }.joined(separator: ", ")
        let source =
            "#include <ferry.h>\ntypedef void (*any)(void);\nany all[] = {\(table)};\nint main(void) { return !all[0]; }\n"
        let file = FileManager.default.temporaryDirectory.appending(path: "ferry-\(UUID().uuidString).c")
        try Data(source.utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        // The linker names a function that is missing.
        try await CProgram.with(file.path(), as: .c99) { program in
            let result = try await program.run([])
            #expect(result.status == 0)
        }
    }
}
