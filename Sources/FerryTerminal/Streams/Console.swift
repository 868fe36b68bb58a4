internal import FerryCore
internal import FerryPlatform

/// Standard output and standard error, unbuffered: each line has left the process when the call returns.
///
/// Control characters are replaced, except line breaks, so that a peer's text cannot control the terminal. Text of a
/// peer that may contain line breaks is made `printable` before it is put into a sentence.
package enum Console {
    /// Writes a line of the output.
    ///
    /// - Throws: ``CommandFailure`` when it cannot be written, because output that is lost is a failure.
    package static func print(_ line: String) throws(CommandFailure) {
        do {
            try self.put(line)
        } catch {
            throw self.lost(error)
        }
    }

    /// Writes lines of a list or of help. If their reader stops early, as `head` does, the command ends silently.
    ///
    /// - Parameter status: the exit status of a command that ends in this way.
    /// - Throws: `status` when the reader has gone; ``CommandFailure`` when the lines cannot be written.
    package static func printList(_ lines: String, end status: ExitStatus = .success) throws {
        do {
            try self.put(lines)
        } catch {
            guard error.reason != .system(EPIPE) else { throw status }
            throw self.lost(error)
        }
    }

    private static func put(_ lines: String) throws(FileFailure) {
        try self.write(self.printable(lines) + "\n", to: STDOUT_FILENO)
    }

    private static func lost(_ failure: FileFailure) -> CommandFailure {
        .usage("The result cannot be written to standard output: \(failure)")
    }

    /// Writes a message to standard error.
    package static func error(_ line: String) {
        // The status line is removed first. Otherwise the message would begin behind it.
        let start = self.hasStatus.withLock { hasStatus in
            defer { hasStatus = false }
            return hasStatus ? self.emptyLine : ""
        }
        // If standard error fails, no place is left to report it.
        try? self.write(start + self.printable(line) + "\n", to: STDERR_FILENO)
    }

    /// Writes a message to standard error at once, in the form of ``LogPolicy/current``.
    package static func error(_ message: LogMessage) {
        if let line = LogPolicy.current.line(message, at: .now) { self.error(line) }
    }

    /// Replaces the status line, which is the current line of the terminal. An empty text removes it.
    package static func status(_ line: String) {
        self.hasStatus.withLock { $0 = !line.isEmpty }
        try? self.write(self.emptyLine + line.printable, to: STDERR_FILENO)
    }

    /// The control characters that move the cursor to the start of the line, and empty the line.
    private static let emptyLine = "\r\u{1b}[K"
    /// Whether the current line of the terminal is a status.
    private static let hasStatus = Locked(false)

    /// Whether standard error is a terminal.
    package static var isTerminal: Bool { isatty(STDERR_FILENO) == 1 }

    /// Whether standard input is a terminal.
    package static var isInputTerminal: Bool { isatty(STDIN_FILENO) == 1 }

    /// Returns the lines without characters that act on a terminal. Line breaks stay.
    static func printable(_ lines: String) -> String {
        lines.split(separator: "\n", omittingEmptySubsequences: false).map { String($0).printable }
            .joined(separator: "\n")
    }

    private static func write(_ text: String, to descriptor: Int32) throws(FileFailure) {
        try FileDescriptor(descriptor, isOwned: false).write(text)
    }
}
