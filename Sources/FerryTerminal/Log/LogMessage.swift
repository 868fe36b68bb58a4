/// One message of a server. Its event, level and members are for programs, and its sentence is for people.
/// ``LogPolicy`` makes a line of text or a line of JSON from it.
///
/// The message contains no device token, payload or key.
package struct LogMessage: Hashable, Sendable {
    /// The importance of a message.
    package enum Level: String, CaseIterable, Comparable, Sendable {
        case debug
        /// A state, or an action that was completed.
        case info
        /// The end of an alarm, and the start and the end of the service.
        case notice
        /// Something that a person should look at soon.
        case warning
        /// An alarm, or a failure that ends the program.
        case error

        /// The number that syslog and the journal use for the level.
        package var priority: Int {
            switch self {
            case .debug: 7
            case .info: 6
            case .notice: 5
            case .warning: 4
            case .error: 3
            }
        }

        package static func < (one: Level, other: Level) -> Bool { one.priority > other.priority }
    }

    /// A word in front of the sentence of the text form.
    package enum Mark: String, Sendable {
        case alarm, warning
    }

    /// The members of a message, in the order of a line. `Docs/commands/gateway.md` explains each.
    package enum Member: String, CaseIterable, Sendable {
        case client, upstream, topic, reason, status, address, file, member, shard, shards
        case notification, destination
        case end, days, copiedAt
        case waiting, unwritten, count, limit, seconds, again
        case read, recovered, copies, accepted, rejected, gone, expired, uncertain, repeated, told
        case taken, refused, postponed, delivered, failed, setAside
    }

    package enum Value: Hashable, Sendable {
        case text(String)
        case number(Int)
        case flag(Bool)
    }

    package typealias Members = [Member: Value]

    /// The stable name of the event.
    package let event: String
    package let level: Level
    package let mark: Mark?
    /// The sentence for people, without `ferry:` and the mark.
    package let sentence: String
    package var members: Members

    private init(
        event: String,
        level: Level,
        mark: Mark?,
        sentence: String,
        members: Members
    ) {
        self.event = event
        self.level = level
        self.mark = mark
        self.sentence = sentence
        self.members = members
    }

    package init(
        _ event: some RawRepresentable<String>,
        _ level: Level,
        _ sentence: String,
        _ members: Members = [:]
    ) {
        self.init(event: event.rawValue, level: level, mark: nil, sentence: sentence, members: members)
    }

    /// Returns a message that begins with "alarm".
    package static func alarm(
        _ event: some RawRepresentable<String>,
        _ sentence: String,
        _ members: Members = [:]
    ) -> LogMessage {
        LogMessage(event: event.rawValue, level: .error, mark: .alarm, sentence: sentence, members: members)
    }

    /// Returns a message that begins with "warning".
    package static func warning(
        _ event: some RawRepresentable<String>,
        _ sentence: String,
        _ members: Members = [:]
    ) -> LogMessage {
        LogMessage(event: event.rawValue, level: .warning, mark: .warning, sentence: sentence, members: members)
    }

    /// The text form.
    package var text: String { "ferry: \(self.mark.map { "\($0.rawValue): " } ?? "")\(self.sentence)" }
}

/// The events that more than one server has.
package enum ServerLogEvent: String, CaseIterable, Sendable {
    /// The program ends, because it cannot go on.
    case failed
    /// A file with a secret that other users may read or change.
    case fileOpen
    /// A certificate in use that ends soon, or has ended.
    case certificateEnds
    /// The store was opened, but the operator should know something about it.
    case storeWarning
    /// The service manager passes a socket.
    case socketPassed
    /// The service manager does not take notices.
    case noticesRefused
    /// Another process has the store or the address. This process waits for the end of the other process.
    case waitsForPredecessor
    /// The admin port can be reached from other machines, and has no token or no encryption.
    case adminOpen
    /// The admin socket that the program chose cannot be made.
    case adminFailed
    /// Messages were dropped, because nobody read standard error.
    case messagesDropped
}
