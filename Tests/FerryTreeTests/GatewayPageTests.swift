import Foundation
import Testing

/// Tests that the page which follows a notification through the gateway speaks of the code as it is.
@Suite struct GatewayPageTests {
    @Test func `each name on the page stands in the code`() throws {
        let path = "Docs/how-it-works/inside-the-gateway.md"
        let code = try Tree.files(in: "Sources").reduce(into: Data()) { $0 += try Tree.bytes($1) }
        // Every second part is a block.
        let prose = try Tree.text(path).components(separatedBy: "\n```").enumerated()
            .filter { $0.offset.isMultiple(of: 2) }.map(\.element).joined()
        let quoted = prose.components(separatedBy: "`").enumerated()
            .filter { !$0.offset.isMultiple(of: 2) }.map(\.element)
        #expect(quoted.count > 50)
        for name in quoted {
            let words = name.split { !($0.isLetter || $0.isNumber || $0 == "_") }
            let unknown = words.filter { code.range(of: Data($0.utf8)) == nil }
            #expect(unknown.isEmpty, "\(path) names `\(name)`, and no code has \(unknown).")
        }
    }
}
