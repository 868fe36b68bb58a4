/// What the program's exit status says. Thrown, it ends a command without a word.
enum ExitStatus: Int32, Error, Comparable {
    /// Everything was accepted, or a list was read to its end.
    case success = 0
    /// Some notifications were not accepted, or turned out not to be; or a list was not whole.
    case notAllAccepted = 1
    case badUsage = 2
    /// No connection, or refused credentials.
    case noConnection = 3

    /// The higher, the graver.
    static func < (one: ExitStatus, other: ExitStatus) -> Bool { one.rawValue < other.rawValue }
}

/// Ends a command with one sentence on standard error.
struct CommandFailure: Error, Equatable {
    var status: ExitStatus
    /// Names no token, payload or key.
    var message: String

    init(_ status: ExitStatus, _ message: String) {
        self.status = status
        self.message = message
    }

    /// Bad usage or input.
    static func usage(_ message: String) -> CommandFailure { CommandFailure(.badUsage, message) }
}
