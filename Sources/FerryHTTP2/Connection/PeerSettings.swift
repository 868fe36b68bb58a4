internal import NIOCore

/// How many streams the peer allows in SETTINGS, and since when it allows none.
///
/// ```
///                      some                 none
///   awaited ─────────────────▶ allowing ──────────▶ closed ◀───────┐
///      │                          ▲                 ▲    │         │
///      │ none                     │ requests may    │    │ some    │ none
///      └──────────────────────────│─────────────────┘    ▼         │
///                                 └───────────────── reopened ─────┘
/// ```
///
/// Streams that are allowed and taken back before a request could be written end no closed time: a peer that alternates
/// would otherwise never be left.
///
/// Source: SETTINGS_MAX_CONCURRENT_STREAMS, RFC 9113, section 6.5.2.
struct PeerSettings {
    private enum State {
        /// No SETTINGS came yet. They are due at that time.
        case awaited(until: NIODeadline)
        /// So many streams are allowed.
        case allowing(Int)
        /// No stream is allowed since that time.
        case closed(since: NIODeadline)
        /// So many are allowed, and no request could be written yet. Before, there was none since that time.
        case reopened(Int, closedSince: NIODeadline)
    }

    private var state: State

    /// - Parameter until: when the first SETTINGS are due.
    init(awaitedUntil until: NIODeadline) {
        self.state = .awaited(until: until)
    }

    /// How many streams are allowed; nil before SETTINGS came.
    var limit: Int? {
        switch self.state {
        case .awaited: nil
        case .allowing(let limit), .reopened(let limit, _): limit
        case .closed: 0
        }
    }

    /// When the first SETTINGS are due; nil when they came.
    var dueAt: NIODeadline? {
        if case .awaited(let until) = self.state { until } else { nil }
    }

    /// Since when no stream is allowed; nil when some are.
    var closedSince: NIODeadline? {
        if case .closed(let since) = self.state { since } else { nil }
    }

    /// SETTINGS came that allow so many streams.
    mutating func came(_ limit: Int, now: NIODeadline) {
        switch self.state {
        case .awaited, .allowing:
            self.state = limit > 0 ? .allowing(limit) : .closed(since: now)
        case .closed(let since), .reopened(_, let since):
            self.state = limit > 0 ? .reopened(limit, closedSince: since) : .closed(since: since)
        }
    }

    /// Requests may be written now, if streams are allowed.
    mutating func writing() {
        if case .reopened(let limit, _) = self.state { self.state = .allowing(limit) }
    }
}
