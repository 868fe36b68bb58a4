internal import FerryCore

/// How a service is, in one colour and one sentence.
package struct Condition: Hashable, Codable, Sendable {
    package enum Level: String, Codable, Comparable, Sendable {
        /// It does its work.
        case well
        /// It does its work, and somebody should look.
        case trouble
        /// It does not do its work.
        case down

        private var rank: Int {
            switch self {
            case .well: 0
            case .trouble: 1
            case .down: 2
            }
        }

        package static func < (left: Self, right: Self) -> Bool { left.rank < right.rank }
    }

    package var level: Level
    package var sentence: String

    package init(_ level: Level, _ sentence: String) {
        self.level = level
        self.sentence = sentence
    }
}

/// The end of a certificate that the process uses.
package struct CertificateEnd: Hashable, Codable, Sendable {
    /// The file as the configuration names it.
    package var file: String
    /// The member or option that names the file: `listen.cert`.
    package var use: String
    /// UNIX seconds.
    package var endsAt: Int

    package init(file: String, use: String, endsAt: Int) {
        self.file = file
        self.use = use
        self.endsAt = endsAt
    }

    /// The whole days that are left; negative after the end.
    package func daysLeft(now: Int) -> Int { Int((Double(self.endsAt - now) / 86_400).rounded(.down)) }
}

/// An alarm that was reported.
package struct AlarmLine: Hashable, Codable, Sendable {
    /// UNIX seconds.
    package var at: Int
    package var sentence: String

    package init(at: Int, _ sentence: String) {
        self.at = at
        self.sentence = sentence
    }
}

/// The last alarms, for operators. Any thread.
package final class RecentAlarms: Sendable {
    package static let limit = 20

    private let lines = Locked<[AlarmLine]>([])

    package init() {}

    package func add(_ line: AlarmLine) {
        self.lines.withLock { lines in
            lines.append(line)
            if lines.count > Self.limit { lines.removeFirst() }
        }
    }

    /// From the oldest to the newest.
    package var all: [AlarmLine] { self.lines.withLock { $0 } }
}
