internal import FerryCore
internal import Logging
internal import NIOCore

/// A log of an upstream, in the gateway's own form: one line that begins with the name of the upstream.
///
/// The provider logs the same trouble once a minute. Its log lines have the sentence among their metadata.
struct UpstreamLog: LogHandler {
    /// The metadata that says what the message is about, in words.
    private static let sentences = ["apns.error", "apns.reason", "apns.report", "apns.count"]

    /// The member of the configuration.
    let name: String
    let write: @Sendable (String) -> Void
    var metadata = Logger.Metadata()
    var logLevel = Logger.Level.warning

    init(name: String, write: @escaping @Sendable (String) -> Void = { MessageWriter.shared.write($0) }) {
        self.name = name
        self.write = write
    }

    /// A logger for the upstream with this name.
    static func logger(_ name: String) -> Logger { Logger(label: "ferry.upstream") { _ in UpstreamLog(name: name) } }

    /// A logger for the side connections of the upstream with this name. Each is a provider of its own, and would log the
    /// trouble of the last one anew.
    static func sideLogger(_ name: String) -> Logger {
        let recent = RecentLines()
        return Logger(label: "ferry.upstream") { _ in
            UpstreamLog(name: "\(name), side connection") { line in
                if recent.add(line, now: .now()) { MessageWriter.shared.write(line) }
            }
        }
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { self.metadata[key] }
        set { self.metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let detail = Self.sentences.lazy.compactMap { event.metadata?[$0] }.first
        self.write("ferry: \(self.name): \(event.message)\(detail.map { ": \($0)" } ?? "")")
    }
}
