import Foundation
import Testing

@testable import FerryTerminal

@Suite struct LogPolicyTests {
    private enum Event: String {
        case something
    }

    private static let time = Date(timeIntervalSince1970: 1_700_000_000.25)

    private static func message(
        _ level: LogMessage.Level = .warning,
        _ sentence: String = "it is so",
        _ members: [LogMessage.Member: LogMessage.Value] = [:]
    ) -> LogMessage {
        LogMessage(Event.something, level, sentence, members)
    }

    @Test func `the text form begins with ferry and the mark, and has no member`() {
        let policy = LogPolicy()
        #expect(policy.line(Self.message(), at: Self.time) == "ferry: it is so")
        let members: [LogMessage.Member: LogMessage.Value] = [.client: .text("shop")]
        #expect(policy.line(.alarm(Event.something, "no", members), at: Self.time) == "ferry: alarm: no")
        #expect(policy.line(.warning(Event.something, "no", members), at: Self.time) == "ferry: warning: no")
    }

    @Test func `a line of JSON has time, level, event, sentence, and the members in their order`() {
        let policy = LogPolicy(format: .json)
        let members: [LogMessage.Member: LogMessage.Value] = [
            .again: .flag(true), .waiting: .number(3), .client: .text(#"a "shop""#),
        ]
        #expect(
            policy.line(.alarm(Event.something, "it is so", members), at: Self.time)
                == #"{"time":"2023-11-14T22:13:20.250Z","level":"error","event":"something","message":"it is so","#
                + #""client":"a \"shop\"","waiting":3,"again":true}"#
        )
    }

    @Test func `text of a peer keeps a line of JSON valid, and acts on no terminal`() throws {
        let text = "a\u{1b}[2J\nb\u{202e}\u{2028}c\u{0}"
        let message = Self.message(.info, text, [.reason: .text(text)])
        let line = try #require(LogPolicy(format: .json).line(message, at: Self.time))
        // Standard error replaces what a terminal must not get. Nothing of it is left.
        #expect(Console.printable(line) == line && !line.contains("\n"))
        let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
        #expect(object?["reason"] as? String == "a\\u{1B}[2J\nb\\u{202E}\\u{2028}c\\u{0}")
        #expect(object?["message"] as? String == object?["reason"] as? String)
    }

    @Test func `messages below the level do not appear`() {
        for lowest in LogMessage.Level.allCases {
            for level in LogMessage.Level.allCases {
                let line = LogPolicy(level: lowest).line(Self.message(level), at: Self.time)
                #expect((line != nil) == (level >= lowest), "\(level) at \(lowest)")
            }
        }
        #expect(LogMessage.Level.allCases.sorted() == [.debug, .info, .notice, .warning, .error])
    }

    @Test func `the journal gets the priority in front of each line, and no time`() {
        let text = LogPolicy(isJournal: true)
        #expect(text.line(Self.message(), at: Self.time) == "<4>ferry: it is so")
        #expect(text.line(.alarm(Event.something, "one\ntwo"), at: Self.time) == "<3>ferry: alarm: one\n<3>two")
        #expect(
            LogPolicy(format: .json, isJournal: true).line(Self.message(.info), at: Self.time)
                == #"<6>{"level":"info","event":"something","message":"it is so"}"#
        )
        #expect(LogMessage.Level.allCases.map(\.priority) == [7, 6, 5, 4, 3])
    }

    @Test func `a stream is the journal's if JOURNAL_STREAM has its device and inode`() async throws {
        try await TemporaryDirectory.with { directory in
            let file = try FileHandle(forReadingFrom: URL(filePath: directory.write("file", "")))
            let other = try FileHandle(forReadingFrom: URL(filePath: directory.write("other", "")))
            var status = stat()
            #expect(fstat(file.fileDescriptor, &status) == 0)
            let name = "\(status.st_dev):\(status.st_ino)"
            #expect(JournalStream.leads(file.fileDescriptor, named: name))
            #expect(!JournalStream.leads(other.fileDescriptor, named: name))
            for wrong in [nil, "", ":", "\(status.st_ino)", name + "0"] {
                #expect(!JournalStream.leads(file.fileDescriptor, named: wrong))
            }
        }
    }
}
