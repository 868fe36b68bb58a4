package import Logging

extension Logger {
    /// A logger that drops everything, because the command itself reports the events.
    package static let silent = Logger(label: "ferry") { _ in SwiftLogNoOpLogHandler() }
}
