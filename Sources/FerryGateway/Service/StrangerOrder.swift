internal import DequeModule
internal import NIOCore

/// The connections of a listener that have sent no bytes inside TLS yet, without I/O. In each stage, the connection
/// with the longest wait comes first.
///
/// ```
///    accepted             handshake             bytes, or rows to read
///   ─────────▶ handshaking ─────────▶ silent ──────────────────────────▶ known
///                   │                    │
///                   ▼ first              ▼ if no handshake is under way
///             closed, one for each connection that waits for a place
/// ```
///
/// Without this order, silent clients could take all places and keep every other client out. Each connection may stay
/// for ``Stage/patience``. Without that time, a crowd of connections would end the handshakes of honest clients, and
/// the listener would only accept and close.
struct StrangerOrder: Sendable {
    /// The number of a wait. A connection has one wait in each stage.
    typealias Wait = UInt64

    enum Stage: Int, CaseIterable, Hashable, Sendable {
        /// The TLS handshake is not over.
        case handshaking
        /// The client is known, but has sent nothing.
        case silent

        /// How long a connection may stay silent while another wants its place.
        var patience: TimeAmount {
            switch self {
            case .handshaking: .seconds(1)
            // A client may connect when its program starts, and send later. With a shorter time, its connection would
            // be closed, and its first notifications would be lost.
            case .silent: .minutes(1)
            }
        }
    }

    /// Whether a connection waits for a place in the full listener.
    private enum Demand {
        case none
        case open
        /// A silent connection was closed to make a place for the waiting connection.
        case met
    }

    private struct Entry {
        var wait: Wait
        var since: NIODeadline
    }

    /// The waits of each stage in order. A wait that has ended stays here until ``compact(_:)``.
    private var orders = Stage.allCases.map { _ in Deque<Entry>() }
    private var stages: [Wait: Stage] = [:]
    private var last: Wait = 0
    private var demand = Demand.none

    mutating func begin(_ stage: Stage, now: NIODeadline) -> Wait {
        self.last += 1
        self.stages[self.last] = stage
        self.orders[stage.rawValue].append(Entry(wait: self.last, since: now))
        return self.last
    }

    mutating func end(_ wait: Wait) {
        guard let stage = self.stages.removeValue(forKey: wait) else { return }
        self.compact(stage)
    }

    /// Notes whether a connection waits for a place. Each call with `true` means a new waiting connection.
    mutating func placeIsWanted(_ isWanted: Bool) { self.demand = isWanted ? .open : .none }

    /// When the next connection must give up its place. It is nil if no connection waits for a place, if a place was
    /// already made for the waiting connection, or if no silent connection is left.
    var nextDeadline: NIODeadline? {
        mutating get { self.next?.deadline }
    }

    /// Returns the wait of the connection that must give up its place now, and ends the wait; nil if no connection
    /// must.
    mutating func makeRoom(now: NIODeadline) -> Wait? {
        guard let next, next.deadline <= now else { return nil }
        self.demand = .met
        self.stages[next.wait] = nil
        return next.wait
    }

    private var next: (wait: Wait, deadline: NIODeadline)? {
        mutating get {
            guard case .open = self.demand else { return nil }
            for stage in Stage.allCases {
                guard let first = self.first(of: stage) else { continue }
                return (first.wait, first.since + stage.patience)
            }
            return nil
        }
    }

    private mutating func first(of stage: Stage) -> Entry? {
        while let first = self.orders[stage.rawValue].first {
            if self.stages[first.wait] != nil { return first }
            self.orders[stage.rawValue].removeFirst()
        }
        return nil
    }

    /// Bounds the length of the order by twice the number of waits, and 64 more.
    private mutating func compact(_ stage: Stage) {
        guard self.orders[stage.rawValue].count > 2 * self.stages.count + 64 else { return }
        self.orders[stage.rawValue].removeAll { self.stages[$0.wait] == nil }
    }
}
