internal import FerryCore

/// An alarm that was reported.
package struct AlarmLine: Hashable, Codable, Sendable {
    /// The time of the alarm, in UNIX seconds.
    package var at: Int
    package var sentence: String

    package init(at: Int, _ sentence: String) {
        self.at = at
        self.sentence = sentence
    }
}

/// The last alarms, for operators: at most ``limit``. Any thread may use this object.
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

    /// The alarms, from the oldest to the newest.
    package var all: [AlarmLine] { self.lines.withLock { $0 } }
}
