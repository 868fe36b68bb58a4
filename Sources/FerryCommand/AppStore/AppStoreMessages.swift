internal import FerryAppStore
internal import FerryCore
internal import FerryHTTP1
internal import FerryTerminal

/// The messages of `ferry appstore serve` on standard error: at most ten events a second, and the number of the rest.
///
/// Anybody may post to the receiver, so a flood of posts must not become a flood of lines.
final class AppStoreMessages: Sendable {
    private struct State {
        var second: Int64 = 0
        var lines = 0
        var hidden = 0
    }

    private static let linesPerSecond = 10

    private let state = Locked(State())
    private let watch: AppStoreWatch
    private let start = ContinuousClock.now
    private let write: @Sendable (LogMessage) -> Void

    /// - Parameter watch: counts the events.
    init(_ watch: AppStoreWatch, write: @escaping @Sendable (LogMessage) -> Void) {
        self.watch = watch
        self.write = write
    }

    func say(_ event: AppStoreReceiverEvent) {
        self.watch.note(event)
        switch event {
        case .taken, .duplicate: break
        case .refused(let error, let status):
            self.say(
                .refused,
                "refused with \(status): \(error.description)",
                [.status: .number(status), .reason: .text(error.description)]
            )
        case .misdirected(let status):
            let reason = "the request has another \(status == 404 ? "path than --path" : "method than POST")"
            self.say(
                .refused,
                "refused with \(status): \(reason)",
                [.status: .number(status), .reason: .text(reason)]
            )
        case .postponed(let uuid, let reason):
            self.say(
                .postponed,
                "\(uuid) was not taken, and Apple was asked to come again: \(reason)",
                [.notification: .text(uuid), .reason: .text(reason)]
            )
        @unknown default: break
        }
    }

    func say(_ event: AppStoreDeliveryEvent) {
        self.watch.note(event)
        switch event {
        case .delivered: break
        case .failed(let uuid, let destination, let reason, let again):
            let place = (try? HTTPURL(destination).description) ?? "its destination"
            let next =
                again.map {
                    $0 == .zero
                        ? "it comes again after the next start" : "the next attempt is in \($0.components.seconds) s"
                }
                ?? "it was set aside; 'ferry appstore redeliver' tries again"
            let cause = reason.hasSuffix(".") ? reason.dropLast() : reason[...]
            var members: LogMessage.Members = [
                .notification: .text(uuid), .destination: .text(place), .reason: .text(String(cause)),
            ]
            members[.seconds] = again.map { LogMessage.Value.number(Int($0.components.seconds)) }
            self.say(
                again == nil ? .setAside : .notDelivered,
                "\(uuid) was not delivered to \(place): \(cause); \(next)",
                members
            )
        case .notNoted(let reason): self.say(.notNoted, reason, [.reason: .text(reason)])
        @unknown default: break
        }
    }

    func sayEnd() {
        self.sayHidden(self.state.withLock(\.hidden))
        let posts = self.watch.posts
        let deliveries = self.watch.deliveries.map(\.figures)
        let delivered = deliveries.reduce(0) { $0 + $1.delivered }
        let setAside = deliveries.reduce(0) { $0 + $1.setAside }
        let failed = deliveries.reduce(0) { $0 + $1.failed } - setAside
        self.write(
            LogMessage(
                AppStoreLogEvent.stopped,
                .notice,
                "\(posts.taken) taken, \(posts.copies) copies, \(posts.allRefused) refused, \(posts.postponed) postponed; "
                    + "\(delivered) delivered, \(failed) attempts failed, \(setAside) set aside",
                [
                    .taken: .number(posts.taken), .copies: .number(posts.copies), .refused: .number(posts.allRefused),
                    .postponed: .number(posts.postponed), .delivered: .number(delivered),
                    .failed: .number(failed), .setAside: .number(setAside),
                ]
            )
        )
    }

    private func sayHidden(_ count: Int) {
        guard count > 0 else { return }
        self.write(
            LogMessage(
                AppStoreLogEvent.linesHidden,
                .warning,
                "\(count) more lines are not shown",
                [.count: .number(count)]
            )
        )
    }

    private func say(
        _ event: AppStoreLogEvent,
        _ sentence: String,
        _ members: LogMessage.Members
    ) {
        // Anybody may post, so a refused post is no fault of this server.
        let level: LogMessage.Level = event == .refused ? .info : .warning
        // A line below the level does not appear, so it does not count for the limit.
        guard level >= LogPolicy.current.level else { return }
        let second = (ContinuousClock.now - self.start).components.seconds
        let (isShown, hidden) = self.state.withLock { state in
            var hidden = 0
            if state.second != second {
                hidden = state.hidden
                (state.second, state.lines, state.hidden) = (second, 0, 0)
            }
            state.lines += 1
            if state.lines > Self.linesPerSecond { state.hidden += 1 }
            return (state.lines <= Self.linesPerSecond, hidden)
        }
        self.sayHidden(hidden)
        // A quoted text may have line breaks, but the message must stay one line.
        if isShown { self.write(LogMessage(event, level, sentence.printable, members)) }
    }
}
