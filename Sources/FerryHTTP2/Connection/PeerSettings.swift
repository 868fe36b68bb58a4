internal import NIOCore

/// The number of streams that the peer allows in SETTINGS, and the time since which it allows none.
///
/// ```
///                      some                 none
///   awaited ─────────────────▶ allowing ──────────▶ closed ◀───────┐
///      │                          ▲                 ▲    │         │
///      │ none                     │                 │    │ some    │ none
///      └──────────────────────────│─────────────────┘    ▼         │
///                                 └───────────────── reopened ─────┘
///                                  a request is written
/// ```
///
/// If streams are allowed and withdrawn before a request could be written, the closed time continues. Otherwise a peer
/// that alternates would never be left.
///
/// Source: SETTINGS_MAX_CONCURRENT_STREAMS, RFC 9113, section 6.5.2.
struct PeerSettings {
    private enum State {
        /// No SETTINGS arrived yet. They are due at that time.
        case awaited(until: NIODeadline)
        /// This number of streams is allowed.
        case allowing(Int)
        /// No stream has been allowed since that time.
        case closed(since: NIODeadline)
        /// Streams are allowed again, and no request could be written yet. None was allowed from `closedSince` until
        /// then.
        case reopened(Int, closedSince: NIODeadline)
    }

    private var state: State

    /// - Parameter until: when the first SETTINGS are due.
    init(awaitedUntil until: NIODeadline) {
        self.state = .awaited(until: until)
    }

    /// The number of allowed streams; nil before SETTINGS arrived.
    var limit: Int? {
        switch self.state {
        case .awaited: nil
        case .allowing(let limit), .reopened(let limit, _): limit
        case .closed: 0
        }
    }

    /// When the first SETTINGS are due; nil when they have arrived.
    var dueAt: NIODeadline? {
        if case .awaited(let until) = self.state { until } else { nil }
    }

    /// The time since which no stream is allowed; nil when some are.
    var closedSince: NIODeadline? {
        if case .closed(let since) = self.state { since } else { nil }
    }

    /// Notes SETTINGS with a limit of streams.
    mutating func came(_ limit: Int, now: NIODeadline) {
        switch self.state {
        case .awaited, .allowing:
            self.state = limit > 0 ? .allowing(limit) : .closed(since: now)
        case .closed(let since), .reopened(_, let since):
            self.state = limit > 0 ? .reopened(limit, closedSince: since) : .closed(since: since)
        }
    }

    /// Notes that requests may be written now, if streams are allowed.
    mutating func writing() {
        if case .reopened(let limit, _) = self.state { self.state = .allowing(limit) }
    }
}
