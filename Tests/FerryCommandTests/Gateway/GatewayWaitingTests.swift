import ArgumentParser
import FerryAdmin
import FerryCore
import FerryGateway
import FerryTerminal
import Foundation
import Testing

@testable import FerryCommand

/// The command for what waits, against an admin service that answers as the test wants.
@Suite(.timeLimit(.minutes(5))) struct GatewayWaitingTests {
    /// The lines of the command, and what it asked for.
    private static func lines(
        _ arguments: [String] = [],
        limit: Int = 100,
        isJSON: Bool = false,
        onlySums: Bool = false,
        answer: @escaping @Sendable (AdminRequest) -> AdminAnswer
    ) async throws -> (lines: [String], asked: [String]) {
        let path = FileManager.default.temporaryDirectory.appending(path: "ferry-\(UUID().uuidString.prefix(8))").path
        let asked = Locked<[String]>([])
        let server = try await AdminServer.start(.init(socketPath: path)) { request in
            let words = ["client", "reason", "after"].map { request.parameter($0) ?? "-" }.joined(separator: " ")
            asked.withLock { $0.append("\(request.path) \(words)") }
            return answer(request)
        }
        let list = WaitingList(try WaitingFilterOptions.parse(arguments), limit: limit, isJSON: isJSON)
        var lines: [String] = []
        var failure: (any Error)?
        do {
            try await list.ask(try AdminClient(socket: path), onlySums: onlySums) { lines.append($0) }
        } catch {
            failure = error
        }
        await server.stop()
        try? FileManager.default.removeItem(atPath: path)
        if let failure { throw failure }
        return (lines, asked.withLock { $0 })
    }

    private static func row(_ id: String, _ reason: String = "backOff") -> String {
        #"""
        {"apnsId":"\#(id)","client":"shop","topic":"t","reason":"\#(reason)","lastReason":"ServiceUnavailable",\#
        "readAt":1,"age":600,"expiration":0,"mayHaveArrived":true,"attempts":1,"token":"00"}
        """#
    }

    private static func sum(_ client: String, _ count: Int, _ age: Int) -> String {
        #"{"client":"\#(client)","reason":"backOff","count":\#(count),"oldestAge":\#(age)}"#
    }

    private static func page(_ name: String, _ values: [String], next: String?) -> AdminAnswer {
        let next = next.map { #","next":"\#($0)""# } ?? ""
        return AdminAnswer(json: Array(#"{"\#(name)":[\#(values.joined(separator: ","))]\#(next)}"#.utf8))
    }

    @Test func `'waiting' is 'waiting list', and takes its options`() throws {
        for words in [["waiting"], ["waiting", "list"]] {
            let options = ["--client", "shop", "--reason", "topicRefused", "--older-than", "10"]
            let command = try GatewayCommand.parseAsRoot(words + ["--config", "gateway.json"] + options)
            let list = try #require(command as? GatewayWaitingListCommand)
            #expect(list.gateway.config == "gateway.json" && list.filter.reason == .topicRefused)
            let query = list.filter.query(after: "1-2", now: Date(timeIntervalSince1970: 1_700_000_600))
            #expect(query == "?after=1-2&client=shop&reason=topicRefused&before=1700000000")
        }
        for wrong in [["--limit=-5"], ["--older-than=-1"], ["--reason", "none"]] {
            #expect(throws: (any Error).self) {
                _ = try GatewayCommand.parseAsRoot(["waiting", "--config", "gateway.json"] + wrong)
            }
        }
    }

    @Test func `the help of each command below 'gateway' shows --config, and the gateway takes its value`() throws {
        let id = "00000000-0000-8001-8000-010000000001"
        let commands: [(words: [String], argument: String?)] = [
            (["status"], nil), (["top"], nil), (["waiting", "list"], nil), (["letters", "list"], nil),
            (["letters", "show"], id), (["letters", "retry"], id), (["letters", "drop"], id), (["backup"], "copy.db"),
            (["reload"], nil),
        ]
        for (words, argument) in commands {
            let arguments = words + [argument, "--config", "gateway.json"].compactMap(\.self)
            let command = try GatewayCommand.parseAsRoot(arguments)
            let help = GatewayCommand.helpMessage(for: type(of: command), columns: 400)
            #expect(help.contains("USAGE: gateway \(words.joined(separator: " "))"), "\(help)")
            #expect(help.contains(" [--config <file>] "), "\(help)")
            let parent = Mirror(reflecting: command).children.first { $0.label == "_gateway" }?.value
            #expect((parent as? ParentCommand<GatewayCommand>)?.wrappedValue.config == "gateway.json")
        }
    }

    @Test func `the sums of all pages come first, and then the notifications up to the limit`() async throws {
        let (lines, asked) = try await Self.lines(["--client", "shop"], limit: 3) { request in
            switch (request.path, request.parameter("after")) {
            case ("/waiting/sums", nil): Self.page("sums", [Self.sum("shop", 2, 60)], next: "1-0")
            case ("/waiting/sums", _): Self.page("sums", [Self.sum("shop", 4, 600)], next: nil)
            case (_, nil): Self.page("notifications", [Self.row("a"), Self.row("b")], next: "2-0")
            default: Self.page("notifications", [Self.row("c"), Self.row("d")], next: "4-0")
            }
        }
        #expect(
            lines == [
                """
                client  why                           count  oldest
                shop    goes out again after a pause      6  10 min
                """,
                "",
                "a  shop  goes out again after a pause (ServiceUnavailable), may have arrived  10 min",
                "b  shop  goes out again after a pause (ServiceUnavailable), may have arrived  10 min",
                "c  shop  goes out again after a pause (ServiceUnavailable), may have arrived  10 min",
                "and 3 more: --limit 0 shows all",
            ]
        )
        #expect(
            asked == [
                "/waiting/sums shop - -", "/waiting/sums shop - 1-0", "/waiting shop - -", "/waiting shop - 2-0",
            ]
        )
    }

    @Test func `JSON has the sums in its first line, and a notification in each further one`() async throws {
        let (lines, _) = try await Self.lines(isJSON: true) { request in
            request.path == "/waiting/sums"
                ? Self.page("sums", [Self.sum("shop", 1, 600)], next: nil)
                : Self.page("notifications", [Self.row("a")], next: nil)
        }
        #expect(lines.count == 2)
        #expect(lines.first == #"{"sums":[{"client":"shop","count":1,"oldestAge":600,"reason":"backOff"}]}"#)
        #expect(lines.last?.contains(#""apnsId":"a""#) == true)
    }

    @Test func `an empty gateway is asked for nothing else`() async throws {
        let (lines, asked) = try await Self.lines { _ in Self.page("sums", [], next: nil) }
        #expect(lines == ["Nothing waits for APNs."])
        #expect(asked == ["/waiting/sums - - -"])
    }

    @Test(arguments: [["--client", "shop"], ["--reason", "store"], ["--older-than", "10"]])
    func `where nothing matches a filter, other notifications may wait`(arguments: [String]) async throws {
        let (lines, _) = try await Self.lines(arguments) { _ in Self.page("sums", [], next: nil) }
        #expect(lines == ["Nothing that waits matches."])
    }

    @Test func `the sums alone are asked for`() async throws {
        let (lines, asked) = try await Self.lines(onlySums: true) { _ in
            Self.page("sums", [Self.sum("shop", 1, 1)], next: nil)
        }
        #expect(lines.count == 1 && asked.count == 1)
    }

    @Test func `a gateway of another version is named`() async throws {
        let error = await #expect(throws: CommandFailure.self) {
            _ = try await Self.lines { _ in AdminAnswer(status: 404, "There is nothing here.") }
        }
        #expect(error?.message.contains("There is nothing here.") == true)
        let unknown = await #expect(throws: CommandFailure.self) {
            _ = try await Self.lines { request in
                request.path == "/waiting/sums"
                    ? Self.page("sums", [Self.sum("shop", 1, 1)], next: nil)
                    : Self.page("notifications", [Self.row("a", "moonPhase")], next: nil)
            }
        }
        #expect(unknown?.message.contains("of this version") == true)
    }
}
