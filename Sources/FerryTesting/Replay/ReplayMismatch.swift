internal import FerryCore

/// The peer did not do what the transcript says.
///
/// ``description`` shows neither tokens nor payloads; `String(reflecting:)` adds the bytes themselves.
public struct ReplayMismatch: Error, Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible {
    /// The line of the transcript, from 1; 0 when the event comes from no file, or no line is left.
    public let line: Int
    /// The number of the connection in the transcript.
    public let connection: Int
    /// What the transcript says, decoded.
    public let expected: String
    /// What came, decoded.
    public let found: String
    /// What the two descriptions do not show: in which fields the messages differ, and where what came stands. Sentences.
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

    /// The line, what it says and what came instead; of two messages also in what they differ, and which line of the
    /// connection has what came.
    public var description: String {
        let place = self.line == 0 ? "" : "line \(self.line), "
        return
            "The replay differs at \(place)connection \(self.connection): expected \(self.expected); found \(self.found).\(self.explanation)"
    }

    /// The description with the bytes.
    public var debugDescription: String {
        "\(self.description) Expected bytes: [\(self.expectedBytes.hexadecimal)]; found: [\(self.foundBytes.hexadecimal)]"
    }
}
