/// The exit status of the program. Thrown as an error, it ends a command without a message.
package enum ExitStatus: Int32, Error, Comparable {
    /// Everything was accepted, or a list was read to its end.
    case success = 0
    /// A notification was not accepted, an acceptance turned out wrong, a list was not complete, or a check or a
    /// benchmark failed.
    case notAllAccepted = 1
    case badUsage = 2
    /// No connection was made, or the credentials were refused.
    case noConnection = 3

    /// The order of severity. A higher number is worse.
    package static func < (one: ExitStatus, other: ExitStatus) -> Bool { one.rawValue < other.rawValue }
}

/// An error that ends a command with one sentence on standard error.
package struct CommandFailure: Error, Equatable {
    package var status: ExitStatus
    /// The sentence. It contains no token, payload or key.
    package var message: String

    package init(_ status: ExitStatus, _ message: String) {
        self.status = status
        self.message = message
    }

    /// Returns the failure for bad usage or bad input.
    package static func usage(_ message: String) -> CommandFailure { CommandFailure(.badUsage, message) }
    package static func refused(_ message: String) -> CommandFailure { CommandFailure(.notAllAccepted, message) }
}
