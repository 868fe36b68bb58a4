/// A text that is no transcript.
///
/// ``description`` names the line and what is wrong with it, and nothing that the line holds: it may be a device token.
public struct TranscriptError: Error, Sendable, Hashable, CustomStringConvertible {
    /// Where, from 1; 0: the text as a whole.
    public var line: Int
    /// What is wrong, and what would be right.
    public var reason: String

    /// The line and what is wrong with it.
    public var description: String {
        self.line == 0 ? "No transcript: \(self.reason)." : "Line \(self.line) of the transcript: \(self.reason)."
    }
}
