internal import Ferry
internal import FerryCore
internal import FerryTerminal

/// Counts the causes for which notifications were not accepted. Safe from any thread.
final class OutcomeTally: OutcomeSink {
    /// The number of causes that are counted separately. It is limited because a peer may invent reasons.
    private static let limit = 64
    /// The number of causes that the table lists.
    private static let lines = 5

    private struct State {
        var counts: [Outcome: Int] = [:]
        /// The notifications with other causes, beyond the limit.
        var others = 0
    }

    /// Whether the provider itself resends notifications that may have arrived.
    private let resendsUnknown: Bool
    private let state = Locked(State())

    init(resendsUnknown: Bool) {
        self.resendsUnknown = resendsUnknown
    }

    func settled(_ outcomes: Span<OutcomeRecord>) {
        for index in outcomes.indices {
            // Nearly all notifications are accepted. They must cost no lock.
            if case .accepted = outcomes[index].outcome { continue }
            self.count(outcomes[index].outcome)
        }
    }

    private func count(_ outcome: Outcome) {
        var cause = outcome
        if case .rejected(var rejection) = outcome {
            // Each device has a different timestamp, and each timestamp would make a separate cause.
            rejection.timestamp = nil
            cause = .rejected(rejection)
        }
        self.state.withLock { state in
            if state.counts[cause] != nil || state.counts.count < Self.limit {
                state.counts[cause, default: 0] += 1
            } else {
                state.others += 1
            }
        }
    }

    /// Whether some notifications were not accepted, and all of them only because the peer closed their connections.
    var isOnlyOfLostConnections: Bool {
        self.state.withLock { state in
            !state.counts.isEmpty && state.others == 0 && state.counts.keys.allSatisfy(\.isOfLostConnection)
        }
    }

    /// The most frequent causes with their counts, a line for each. Nil if everything was accepted.
    var table: String? {
        let (counts, others) = self.state.withLock { ($0.counts, $0.others) }
        // Causes with equal counts are sorted by text, so that equal runs print equal tables.
        let causes = counts.map { (count: $0.value, outcome: $0.key, text: "\($0.key)") }
            .sorted { ($1.count, $0.text) < ($0.count, $1.text) }
        guard !causes.isEmpty else { return nil }
        var rows = causes.prefix(Self.lines).map { cause in
            [
                "\(cause.count)",
                [cause.text, self.explanation(cause.outcome, count: cause.count)].compactMap { $0 }.joined(
                    separator: ". "
                ),
            ]
        }
        let rest = causes.dropFirst(Self.lines).reduce(others) { $0 + $1.count }
        if rest > 0 { rows.append(["\(rest)", "others"]) }
        return TextTable(rows: rows, alignment: [.right, .left]).description
    }

    /// - Parameter count: the number of notifications with this outcome.
    private func explanation(_ outcome: Outcome, count: Int) -> String? {
        switch outcome {
        case .rejected(let rejection) where count > 1 && rejection.details != nil:
            rejection.explanation.map { "Of the first: \($0)" }
        case .uncertain(.noAnswer), .uncertain(.positionUnknown), .uncertain(.reset):
            outcome.explanation.map { self.resendsUnknown ? $0 : "\($0) --on-unknown resend does that." }
        case .undelivered(.noConnection):
            // The command itself names the cause.
            outcome.explanation?.replacing(" \(Outcome.UndeliveredCause.whereToLook)", with: "")
        default:
            outcome.explanation
        }
    }
}

extension Outcome {
    /// Whether the peer closed the connection, and nothing shows whether it took the notification.
    fileprivate var isOfLostConnection: Bool {
        switch self {
        case .uncertain(.positionUnknown), .uncertain(.peerCloses), .uncertain(.notRepeated): true
        default: false
        }
    }
}
