internal import Logging

extension Logger {
    /// A logger that drops everything, because the command says itself what happens.
    static let silent = Logger(label: "ferry") { _ in SwiftLogNoOpLogHandler() }
}
