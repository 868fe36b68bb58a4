/// The error of a text that is not a valid transcript.
///
/// ``description`` gives the line number and the fault. It never quotes the line, which may hold a device token.
public struct TranscriptError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The line number, from 1; 0 if the fault is in the text as a whole.
    public var line: Int
    /// The fault, and the correct form.
    public var reason: String

    /// The line number and the fault.
    public var description: String {
        self.line == 0 ? "No transcript: \(self.reason)." : "Line \(self.line) of the transcript: \(self.reason)."
    }
}
