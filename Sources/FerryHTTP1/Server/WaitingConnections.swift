internal import DequeModule
internal import FerryCore

/// The connections of a server that wait for a whole request, the longest wait first. Safe from any thread.
///
/// A server that has as many connections as it may have closes the one that has waited longest between two requests. Its
/// client loses nothing. If no connection is between two requests, the one that has waited longest is closed. Otherwise
/// clients that send nothing, or a byte now and then, would keep all others out for 30 s.
final class WaitingConnections: Sendable {
    /// One wait of one connection.
    typealias Wait = UInt64
    typealias Close = @Sendable () -> Void

    /// The thing that a connection waits for.
    enum Kind {
        /// The next request. The client has taken its answers.
        case next
        /// A client that takes its answers.
        case taking
        /// The first request, the rest of a request, or the client's end.
        case other
    }

    private struct Table {
        /// The waits between two requests, in their order. Those that have ended stay until ``compact()``.
        var idle: Deque<Wait> = []
        /// All others, in the same way.
        var busy: Deque<Wait> = []
        var closers: [Wait: Close] = [:]
        var last: Wait = 0
        /// The bytes of all requests without an answer.
        var held = 0
        /// Whether a place was wanted when no connection waited. The next connection whose client has taken its answer gives
        /// it.
        var owesPlace = false

        mutating func insert(_ wait: Wait, _ kind: Kind, _ close: @escaping Close) {
            self.closers[wait] = close
            switch kind {
            case .next: self.idle.append(wait)
            case .taking, .other: self.busy.append(wait)
            }
        }

        /// Bounds the orders by twice the number of waits.
        mutating func compact() {
            guard self.idle.count + self.busy.count > 2 * self.closers.count + 64 else { return }
            self.idle = self.idle.filter { self.closers[$0] != nil }
            self.busy = self.busy.filter { self.closers[$0] != nil }
        }

        mutating func removeLongestIdle() -> Close? { Self.removeFirst(of: &self.idle, in: &self.closers) }

        mutating func removeLongestBusy() -> Close? { Self.removeFirst(of: &self.busy, in: &self.closers) }

        private static func removeFirst(of order: inout Deque<Wait>, in closers: inout [Wait: Close]) -> Close? {
            while let wait = order.popFirst() {
                if let close = closers.removeValue(forKey: wait) { return close }
            }
            return nil
        }
    }

    /// The bytes of requests without an answer that all connections may hold: some 7,000 posts of the App Store.
    static let heldLimit = 128 << 20

    private let table = Locked(Table())

    /// Begins a wait.
    ///
    /// - Parameter close: closes the connection unless a request has come. Called once at most, from any thread.
    func begin(_ kind: Kind, _ close: @escaping Close) -> Wait {
        let (wait, owesPlace) = self.table.withLock { table in
            table.last += 1
            guard kind != .next || !table.owesPlace else {
                table.owesPlace = false
                return (table.last, true)
            }
            table.insert(table.last, kind, close)
            return (table.last, false)
        }
        if owesPlace { close() }
        return wait
    }

    func end(_ wait: Wait) {
        self.table.withLock { table in
            table.closers[wait] = nil
            table.compact()
        }
    }

    /// Notes that `count` bytes more are held; below 0, fewer. While too many are held, each growth closes the connection that
    /// has waited longest: a genuine request is whole within a moment. A connection between two requests holds no bytes, so
    /// it stays.
    func hold(_ count: Int) {
        guard count != 0 else { return }
        let close = self.table.withLock { table -> Close? in
            table.held += count
            return count > 0 && table.held > Self.heldLimit ? table.removeLongestBusy() : nil
        }
        close?()
    }

    /// Closes the connection that has waited longest between two requests. If there is none, closes the one that has waited
    /// longest, and if none waits, the next one whose client has taken its answer.
    func closeLongest() {
        let close = self.table.withLock { table in
            let close = table.removeLongestIdle() ?? table.removeLongestBusy()
            table.owesPlace = close == nil
            return close
        }
        close?()
    }
}
