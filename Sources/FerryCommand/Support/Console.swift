internal import FerryCore

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#else
internal import Darwin
#endif

/// Standard output and standard error, unbuffered: what was said has left the process.
///
/// Nothing but line breaks acts on the terminal, whatever a peer made up. A text of a peer that may have line breaks is
/// made `printable` where it is put into a sentence.
enum Console {
    /// Writes a line of the result.
    ///
    /// - Throws: ``CommandFailure`` when it cannot be written: a result that nobody gets is none.
    static func print(_ line: String) throws(CommandFailure) {
        do {
            try self.write(self.printable(line) + "\n", to: STDOUT_FILENO)
        } catch {
            throw CommandFailure.usage("The result cannot be written to standard output: \(error)")
        }
    }

    /// Writes a line that is not part of the result.
    static func error(_ line: String) {
        // There is nowhere left to tell that this failed.
        try? self.write(self.printable(line) + "\n", to: STDERR_FILENO)
    }

    /// Replaces the line that the cursor of the terminal stands on.
    static func status(_ line: String) {
        try? self.write("\r\u{1b}[K\(line.printable)", to: STDERR_FILENO)
    }

    /// Whether a person looks at standard error.
    static var isTerminal: Bool { isatty(STDERR_FILENO) == 1 }

    /// Whether standard input comes from a person.
    static var isInputTerminal: Bool { isatty(STDIN_FILENO) == 1 }

    private static func printable(_ lines: String) -> String {
        lines.split(separator: "\n", omittingEmptySubsequences: false).map { String($0).printable }
            .joined(separator: "\n")
    }

    private static func write(_ text: String, to descriptor: Int32) throws(FileFailure) {
        var text = text
        let failure = text.withUTF8 { bytes -> FileFailure? in
            do throws(FileFailure) {
                try FileDescriptor.writeAll(UnsafeRawBufferPointer(bytes), to: descriptor)
                return nil
            } catch {
                return error
            }
        }
        if let failure { throw failure }
    }
}
