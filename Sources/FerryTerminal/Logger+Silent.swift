package import Logging

extension Logger {
    /// A logger that drops everything, because the command says itself what happens.
    package static let silent = Logger(label: "ferry") { _ in SwiftLogNoOpLogHandler() }
}
