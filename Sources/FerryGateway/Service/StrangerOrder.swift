internal import DequeModule
internal import NIOCore

/// The connections of a listener that have shown nothing of themselves, the longest wait first. Without I/O.
///
/// ```
///    accepted             handshake             bytes, or rows to read
///   ─────────▶ handshaking ─────────▶ silent ──────────────────────────▶ known
///                   │                    │
///                   ▼ first              ▼ if no handshake is under way
///             closed, one for each connection that waits for a place
/// ```
///
/// Otherwise clients that say nothing would keep every other one out. Each has a moment: with none, a crowd that connects
/// all the time would end the handshake of an honest client, and the listener would do nothing but accept and close.
struct StrangerOrder: Sendable {
    /// One wait of one connection.
    typealias Wait = UInt64

    enum Stage: Int, CaseIterable, Hashable, Sendable {
        /// Its TLS handshake is not over.
        case handshaking
        /// Its client is known, and has sent nothing.
        case silent

        /// The time that it may wait while others want its place.
        var patience: TimeAmount {
            switch self {
            case .handshaking: .seconds(1)
            // A client may connect when its program starts, and send later: what it then writes would be lost.
            case .silent: .minutes(1)
            }
        }
    }

    /// Whether a connection waits for a place in the listener.
    private enum Demand {
        case none
        case open
        /// Another connection was closed for it.
        case met
    }

    private struct Entry {
        var wait: Wait
        var since: NIODeadline
    }

    /// The waits of each stage in their order. Those that have ended stay until ``compact(_:)``.
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

    /// Notes whether a connection waits for a place. With each `true` another one does.
    mutating func placeIsWanted(_ isWanted: Bool) { self.demand = isWanted ? .open : .none }

    /// When the next connection must give its place. Nil: no place is wanted, or every client has shown itself.
    var nextDeadline: NIODeadline? {
        mutating get { self.next?.deadline }
    }

    /// Returns the connection that gives its place now. Its wait has ended.
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

    /// Bounds the order by twice the number of waits.
    private mutating func compact(_ stage: Stage) {
        guard self.orders[stage.rawValue].count > 2 * self.stages.count + 64 else { return }
        self.orders[stage.rawValue].removeAll { self.stages[$0.wait] == nil }
    }
}
