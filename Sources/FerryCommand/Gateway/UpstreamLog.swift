internal import FerryAdmin
internal import FerryCore
internal import FerryGateway
internal import FerryTerminal
internal import Logging
internal import NIOCore

/// A log of an upstream, as messages of the gateway that name it.
///
/// The provider logs the same failure at most once a minute. The sentence is in the metadata of its log lines.
struct UpstreamLog: LogHandler {
    /// The metadata that has the sentence, in order of preference.
    private static let sentences = [Self.error, "apns.reason", "apns.report", "apns.count"]
    /// The metadata that has the sentence of a failure.
    private static let error = "apns.error"

    /// The name of the upstream in the configuration.
    let upstream: String
    /// Whether the log is that of the upstream's side connections.
    let isSide: Bool
    /// The watch that keeps the last failure; nil for side connections, whose failure may concern one client alone.
    private let watch: UpstreamWatch?
    let write: @Sendable (LogMessage) -> Void
    var metadata = Logger.Metadata()
    private var ownLevel: Logger.Level?

    /// The level that was set; without one, `debug` or `warning`, by the level of the process. A reload may change
    /// that.
    var logLevel: Logger.Level {
        get { self.ownLevel ?? (LogPolicy.current.level == .debug ? .debug : .warning) }
        set { self.ownLevel = newValue }
    }

    init(
        upstream: String,
        isSide: Bool = false,
        watch: UpstreamWatch? = nil,
        write: @escaping @Sendable (LogMessage) -> Void = { MessageWriter.shared.write($0) }
    ) {
        self.upstream = upstream
        self.isSide = isSide
        self.watch = watch
        self.write = write
    }

    /// A logger for the upstream with this name.
    static func logger(
        _ name: String,
        _ watch: UpstreamWatch,
        write: @escaping @Sendable (LogMessage) -> Void = { MessageWriter.shared.write($0) }
    ) -> Logger {
        Logger(label: "ferry.upstream") { _ in UpstreamLog(upstream: name, watch: watch, write: write) }
    }

    /// A logger for the side connections of the upstream with this name. Each side connection is a new provider,
    /// which would log the failure of the last one again.
    static func sideLogger(_ name: String) -> Logger {
        let recent = RecentLines()
        return Logger(label: "ferry.upstream") { _ in
            UpstreamLog(upstream: name, isSide: true) { message in
                if recent.add(message.text, now: .now()) { MessageWriter.shared.write(message) }
            }
        }
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { self.metadata[key] }
        set { self.metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let detail = Self.sentences.lazy.compactMap { event.metadata?[$0] }.first.map { "\($0)" }
        // Messages without an error are not about the connections.
        if event.level >= .warning, let error = event.metadata?[Self.error] { self.watch?.failed(.now("\(error)")) }
        let place = "upstreams.\(self.upstream)\(self.isSide ? ", side connection" : "")"
        self.write(
            LogMessage(
                GatewayLogEvent.upstream,
                LogMessage.Level(event.level),
                "\(place): \(event.message)\(detail.map { ": \($0)" } ?? "")",
                [.upstream: .text(self.upstream), .reason: .text(detail ?? "\(event.message)")]
            )
        )
    }
}

extension LogMessage.Level {
    /// The level of a library's message.
    fileprivate init(_ level: Logger.Level) {
        self =
            switch level {
            case .trace, .debug: .debug
            case .info: .info
            case .notice: .notice
            case .warning: .warning
            case .error, .critical: .error
            }
    }
}
