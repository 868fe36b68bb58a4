internal import FerryCore

/// The error of a peer whose bytes or ends differ from the transcript.
///
/// ``description`` shows no tokens and no payloads. `String(reflecting:)` adds the bytes.
public struct ReplayMismatch: Error, Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible {
    /// The line of the transcript, from 1; 0 if the transcript was not read from a file, or has no more events.
    public let line: Int
    /// The number of the connection in the transcript.
    public let connection: Int
    /// The expected message or event, decoded.
    public let expected: String
    /// The actual message or event, decoded.
    public let found: String
    /// Sentences that name the fields in which the messages differ, and the line of the transcript that has the found
    /// message.
    private let explanation: String
    private let expectedBytes: [UInt8]
    private let foundBytes: [UInt8]

    init(
        line: Int,
        connection: Int,
        expected: String,
        found: String,
        explanation: String = "",
        expectedBytes: [UInt8] = [],
        foundBytes: [UInt8] = []
    ) {
        self.line = line
        self.connection = connection
        self.expected = expected
        self.found = found
        self.explanation = explanation
        self.expectedBytes = expectedBytes
        self.foundBytes = foundBytes
    }

    /// The line, the expected event and the actual one. For two messages, also the fields that differ, and the line of
    /// the connection that has the found message.
    public var description: String {
        let place = self.line == 0 ? "" : "line \(self.line), "
        return
            "The replay differs at \(place)connection \(self.connection): expected \(self.expected); found \(self.found).\(self.explanation)"
    }

    /// The description, and the bytes.
    public var debugDescription: String {
        "\(self.description) Expected bytes: [\(self.expectedBytes.hexadecimal)]; found: [\(self.foundBytes.hexadecimal)]"
    }
}
