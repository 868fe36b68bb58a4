#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#else
internal import Darwin
#endif

/// Standard output and standard error, unbuffered: what was said has left the process.
enum Console {
    /// Writes a line of the result.
    static func print(_ line: String) {
        self.write(line + "\n", to: STDOUT_FILENO)
    }

    /// Writes a line that is not part of the result.
    static func error(_ line: String) {
        self.write(line + "\n", to: STDERR_FILENO)
    }

    /// Replaces the line that the cursor of the terminal stands on.
    static func status(_ line: String) {
        self.write("\r\u{1b}[K\(line)", to: STDERR_FILENO)
    }

    /// Whether a person looks at standard error.
    static var isTerminal: Bool { isatty(STDERR_FILENO) == 1 }

    private static func write(_ text: String, to descriptor: Int32) {
        var text = text
        // There is nowhere left to tell that this failed.
        text.withUTF8 { try? FileDescriptor.writeAll(UnsafeRawBufferPointer($0), to: descriptor) }
    }
}
