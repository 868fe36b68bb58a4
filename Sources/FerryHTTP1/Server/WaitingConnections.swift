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
        /// The number of connections. It includes those that get an answer now, and so do not wait.
        var connections = 0
        /// Whether a place was wanted when no connection waited. The next connection whose client has taken its answer gives
        /// it. If clients take no answers, the connection that has waited longest gives it.
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

        /// Returns the connection that gives the place that is owed; nil while a connection gets an answer, because its client
        /// may take that at once.
        mutating func removeOwing() -> Close? {
            guard self.owesPlace, self.closers.count >= self.connections else { return nil }
            self.owesPlace = false
            return self.removeLongestBusy()
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

    /// Notes that a connection has begun.
    func connected() { self.table.withLock { $0.connections += 1 } }

    /// Notes that a connection has ended, and waits for nothing.
    func disconnected() { self.table.withLock { $0.connections -= 1 } }

    /// Begins a wait.
    ///
    /// - Parameter close: closes the connection unless a request has come. Called once at most, from any thread.
    func begin(_ kind: Kind, _ close: @escaping Close) -> Wait {
        let (wait, owing) = self.table.withLock { table -> (Wait, Close?) in
            table.last += 1
            guard kind != .next || !table.owesPlace else {
                table.owesPlace = false
                return (table.last, close)
            }
            table.insert(table.last, kind, close)
            return (table.last, table.removeOwing())
        }
        owing?()
        return wait
    }

    func end(_ wait: Wait) {
        self.table.withLock { table in
            table.closers[wait] = nil
            table.compact()
        }
    }

    /// Adds `count`, which may be negative, to the bytes that are held. While too many are held, each growth closes the
    /// connection that has waited longest: a genuine request is whole within a moment. A connection between two requests
    /// holds no bytes, so it stays.
    func hold(_ count: Int) {
        guard count != 0 else { return }
        let close = self.table.withLock { table -> Close? in
            table.held += count
            return count > 0 && table.held > Self.heldLimit ? table.removeLongestBusy() : nil
        }
        close?()
    }

    /// Notes that no place is wanted any more: a connection has ended by itself, or the client that wanted the place has
    /// left. Otherwise the next client that took its answer would lose its connection for nothing.
    func placeIsTaken() { self.table.withLock { $0.owesPlace = false } }

    /// Closes one connection, to make room. The first choice is the one that has waited longest between two requests, and
    /// the second is the one that has waited longest. If no connection waits, the next one whose client has taken its
    /// answer is closed, unless ``placeIsTaken()`` comes first.
    func closeLongest() {
        let close = self.table.withLock { table in
            let close = table.removeLongestIdle() ?? table.removeLongestBusy()
            table.owesPlace = close == nil
            return close
        }
        close?()
    }
}
