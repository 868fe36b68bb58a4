import FerryCore
import Foundation
import Testing

@Suite struct ReasonTableTests {
    /// A reason that `Reason.swift` declares, with the status of its documentation.
    private struct Declaration {
        var word: String
        var isBinary: Bool
        var status: Int
    }

    private func declarations() throws -> [Declaration] {
        let file = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../../Sources/FerryCore/Outcome/Reason.swift")
        let text = try String(contentsOf: file.standardized, encoding: .utf8)
        let pattern = /\/\/\/ (HTTP|Binary status) (\d+)[^\n]*\n    public static let \w+ = Reason\(rawValue: "(.+)"\)/
        let found = try text.matches(of: pattern).map { match in
            Declaration(
                word: String(match.output.3),
                isBinary: match.output.1 == "Binary status",
                status: try #require(Int(match.output.2))
            )
        }
        // None has another documentation.
        #expect(found.count == text.matches(of: /static let \w+ = Reason\(/).count)
        return found
    }

    @Test func `Each reason that has a name has one row and an explanation`() throws {
        let declared = try self.declarations().map(\.word)
        #expect(declared.sorted() == Reason.table.map(\.reason.rawValue).sorted())
        for row in Reason.table {
            #expect(row.reason.row == row)
            #expect(row.reason.isKnown && row.reason.explanation != nil, "\(row.reason)")
        }
        #expect(Reason(rawValue: "SomethingNew").row == nil)
    }

    @Test func `The documentation of each reason names the status of its row`() throws {
        for declaration in try self.declarations() {
            let row = try #require(Reason(rawValue: declaration.word).row)
            #expect(declaration.isBinary == (row.httpStatus == nil), "\(declaration.word)")
            #expect(declaration.status == row.httpStatus ?? Int(row.binaryStatus.rawValue), "\(declaration.word)")
        }
    }

    @Test func `Each reason has a number of its own, and no number is left out`() {
        #expect(Reason.table.map { Int($0.number) }.sorted() == Array(1...Reason.table.count))
    }

    @Test func `A token that is refused may be told as status 8, one of a device that lost the app goes to feedback`() {
        let refused = Reason.table.filter(\.refusesToken).map(\.reason)
        #expect(refused == [.badDeviceToken, .deviceTokenNotForTopic])
        #expect(Reason.table.map(\.reason).filter(\.isOfGoneDevice) == [.expiredToken, .unregistered])
    }
}
