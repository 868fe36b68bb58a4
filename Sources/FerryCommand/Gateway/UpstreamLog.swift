internal import FerryCore
internal import Logging
internal import NIOCore

/// A log of an upstream, in the gateway's own form: one line that begins with the name of the upstream.
///
/// The provider logs the same trouble at most once a minute. The sentence is in the metadata of its log lines.
struct UpstreamLog: LogHandler {
    /// The metadata that has the sentence, in order of preference.
    private static let sentences = ["apns.error", "apns.reason", "apns.report", "apns.count"]

    /// The name of the upstream in the configuration.
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

    /// A logger for the side connections of the upstream with this name. Each is a new provider, and would log the
    /// trouble of the last one again.
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
