internal import FerryCore
package import FerryPlatform

/// The form of messages on standard error, and the lowest level that appears.
package struct LogPolicy: Hashable, Sendable {
    package enum Format: String, CaseIterable, Sendable {
        case text, json
    }

    package var format = Format.text
    /// The lowest level that appears.
    package var level = LogMessage.Level.info
    /// Whether standard error leads to the system's journal. The journal has the time of each line, and reads a
    /// priority in front of each line.
    package var isJournal = false

    package init(format: Format = .text, level: LogMessage.Level = .info, isJournal: Bool = false) {
        self.format = format
        self.level = level
        self.isJournal = isJournal
    }

    private static let shared = Locked(LogPolicy())

    /// The policy of this process. It may change while the process runs.
    package static var current: LogPolicy {
        get { self.shared.withLock { $0 } }
        set { self.shared.withLock { $0 = newValue } }
    }

    /// Returns the line of a message; nil if the message does not appear.
    package func line(_ message: LogMessage, at time: Date) -> String? {
        guard message.level >= self.level else { return nil }
        let line = self.format == .json ? self.json(message, at: time) : Console.printable(message.text)
        guard self.isJournal else { return line }
        let prefix = "<\(message.level.priority)>"
        return line.split(separator: "\n", omittingEmptySubsequences: false).map { "\(prefix)\($0)" }
            .joined(separator: "\n")
    }

    /// Returns the line of JSON. For the journal it has no time, because the journal adds its own.
    private func json(_ message: LogMessage, at time: Date) -> String {
        var bytes: [UInt8] = Array("{".utf8)
        func add(_ name: String, _ value: LogMessage.Value) {
            if bytes.count > 1 { bytes.append(UInt8(ascii: ",")) }
            bytes += "\"\(name)\":".utf8
            switch value {
            // JSON allows characters that act on a terminal, so they are replaced first.
            case .text(let text): bytes.appendJSONString(Console.printable(text))
            case .number(let number): bytes += "\(number)".utf8
            case .flag(let flag): bytes += "\(flag)".utf8
            }
        }
        if !self.isJournal {
            add("time", .text(Date.ISO8601FormatStyle(includingFractionalSeconds: true).format(time)))
        }
        add("level", .text(message.level.rawValue))
        add("event", .text(message.event))
        add("message", .text(message.sentence))
        for member in LogMessage.Member.allCases {
            if let value = message.members[member] { add(member.rawValue, value) }
        }
        bytes.append(UInt8(ascii: "}"))
        return String(decoding: bytes, as: UTF8.self)
    }
}
