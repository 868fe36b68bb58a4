import ArgumentParser
import FerryAdmin
import FerryCore
import FerryGateway
import FerryTerminal
import Foundation
import Testing

@testable import FerryCommand

/// The commands for letters against an admin service that answers as the test wants.
@Suite(.timeLimit(.minutes(5))) struct GatewayLettersTests {
    private static func changes(
        _ arguments: [String],
        sleep: @escaping @Sendable (Duration) async throws -> Void = { _ in },
        answer: @escaping @Sendable (AdminRequest) async -> AdminAnswer
    ) async throws -> LetterChanges {
        let path = FileManager.default.temporaryDirectory.appending(path: "ferry-\(UUID().uuidString.prefix(8))").path
        let server = try await AdminServer.start(.init(socketPath: path), answer: answer)
        let options = try LetterChangeOptions.parse(arguments)
        let changes = await options.carryOut("/letters/retry", try AdminClient(socket: path), sleep: sleep)
        await server.stop()
        try? FileManager.default.removeItem(atPath: path)
        return changes
    }

    private static let id = "00000000-0000-8001-8000-010000000001"

    private static let row = #"""
        {"apnsId":"a","client":"shop","topic":"t","reason":"InternalServerError","endedAt":1,"readAt":1,"expiration":0,\#
        "mayHaveArrived":true,"attempts":1,"token":"00"}
        """#

    @Test func `a limit below 0 is refused`() throws {
        let error = #expect(throws: (any Error).self) {
            _ = try GatewayCommand.parseAsRoot(["letters", "list", "--config", "gateway.json", "--limit=-5"])
        }
        #expect(GatewayCommand.message(for: try #require(error)).contains("--limit takes a number"))
    }

    @Test(arguments: [["retry", "shop"], ["drop", Self.id, "\(Self.id)0"], ["show", "shop"]])
    func `a text that is no apns-id is an error of usage`(arguments: [String]) throws {
        let error = #expect(throws: (any Error).self) {
            _ = try GatewayCommand.parseAsRoot(["letters"] + arguments + ["--config", "gateway.json"])
        }
        let message = GatewayCommand.message(for: try #require(error))
        let text = try #require(arguments.last)
        #expect(message.contains("'\(text)' is not an apns-id"))
    }

    @Test func `a page that fails leaves the sums of the pages before it`() async throws {
        let asked = Locked(0)
        let changes = try await Self.changes(["--all"]) { request in
            guard request.path == "/letters" else { return AdminAnswer(json: Array(#"["done"]"#.utf8)) }
            let count = asked.withLock { count in
                count += 1
                return count
            }
            guard count == 1 else { return AdminAnswer(status: 503, "The store is in trouble.") }
            return AdminAnswer(json: Array(#"{"letters":[\#(Self.row)],"next":"a"}"#.utf8))
        }
        #expect(changes.summary == "1")
        #expect(changes.doubtful == 1)
        #expect((changes.failure as? CommandFailure)?.message.contains("The store is in trouble") == true)
    }

    @Test func `only an answer that says so means that a letter is not there`() async throws {
        let gone = try await Self.changes([Self.id]) { request in
            request.path == "/letter"
                ? AdminAnswer(status: 404, "There is no such letter.") : AdminAnswer(json: Array(#"["missing"]"#.utf8))
        }
        #expect(gone.failure == nil)
        #expect(gone.summary == "0; 1 not there any more")
        let failed = try await Self.changes([Self.id]) { request in
            request.path == "/letter"
                ? AdminAnswer(status: 503, "The store is in trouble.") : AdminAnswer(json: Array(#"["done"]"#.utf8))
        }
        #expect(failed.failure != nil)
        #expect(failed.summary == "0")
    }

    /// The paths of the requests of a command, and "pause" where it waits.
    private static func course(_ arguments: [String], pages: [Int] = []) async throws -> [String] {
        let course = Locked<[String]>([])
        let changes = try await Self.changes(arguments) { pause in
            #expect(pause > .zero)
            course.withLock { $0.append("pause") }
        } answer: { request in
            let page = course.withLock { course in
                course.append(request.path)
                return course.count { $0 == "/letters" }
            }
            switch request.path {
            case "/letters":
                let rows = Array(repeating: Self.row, count: pages[page - 1]).joined(separator: ",")
                let next = page < pages.count ? #","next":"a""# : ""
                return AdminAnswer(json: Array(#"{"letters":[\#(rows)]\#(next)}"#.utf8))
            case "/letter":
                return AdminAnswer(json: Array(Self.row.utf8))
            default:
                let results = request.body.filter { $0 == UInt8(ascii: "\n") }.map { _ in #""done""# }
                return AdminAnswer(json: Array("[\(results.joined(separator: ","))]".utf8))
            }
        }
        #expect(changes.failure == nil)
        return course.withLock { $0 }
    }

    @Test func `a command waits after a change until its next request, and not after the last one`() async throws {
        let retry = "/letters/retry"
        let chosen = try await Self.course(["--all"], pages: [150, 1])
        #expect(chosen == ["/letters", retry, "pause", retry, "pause", "/letters", retry])
        let named = try await Self.course(Array(repeating: Self.id, count: 101))
        let first = Array(repeating: "/letter", count: 100)
        #expect(named == first + [retry, "pause", "/letter", retry])
    }
}
