internal import DequeModule
internal import FerryCore

/// The connections of a server that wait for their clients, the longest wait first. A client must send a whole request,
/// take its answers, or end the connection. Any thread may use this object.
///
/// If a server has its largest number of connections, it closes the connection that has waited longest between two
/// requests. The client of that connection loses nothing. If no connection is between two requests, the server closes
/// the connection that has waited longest. Otherwise clients that send nothing, or a byte now and then, would keep
/// all others out for 30 s.
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
        /// The waits between two requests, the longest first. A wait that has ended may stay until ``compact()``.
        var idle: Deque<Wait> = []
        /// All other waits, in the same order.
        var busy: Deque<Wait> = []
        var closers: [Wait: Close] = [:]
        var last: Wait = 0
        /// The bytes of all requests without an answer.
        var held = 0
        /// The number of all connections. A connection whose answer is being made counts, but does not wait.
        var connections = 0
        /// Whether a new connection needs a place, and no connection waited that could be closed. The next connection
        /// whose client has taken its answer is then closed. If all connections wait before that, the connection that
        /// has waited longest is closed.
        var owesPlace = false

        mutating func insert(_ wait: Wait, _ kind: Kind, _ close: @escaping Close) {
            self.closers[wait] = close
            switch kind {
            case .next: self.idle.append(wait)
            case .taking, .other: self.busy.append(wait)
            }
        }

        /// Bounds ``idle`` and ``busy`` together: to twice the number of waits, and 64 more.
        mutating func compact() {
            guard self.idle.count + self.busy.count > 2 * self.closers.count + 64 else { return }
            self.idle = self.idle.filter { self.closers[$0] != nil }
            self.busy = self.busy.filter { self.closers[$0] != nil }
        }

        /// Returns the closure that closes a connection for the place that is owed; nil if no place is owed. Also nil
        /// while a connection gets an answer, because the client of that connection may take the answer at once.
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
    /// - Parameter close: closes the connection if no whole request has come. It is called at most once, from any
    ///   thread, perhaps during this call.
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

    /// Adds `count`, which may be negative, to the bytes that are held. While more than ``heldLimit`` bytes are held,
    /// each growth closes the connection that has waited longest, because a genuine request is whole within a moment.
    /// A connection between two requests holds no bytes, so it stays.
    func hold(_ count: Int) {
        guard count != 0 else { return }
        let close = self.table.withLock { table -> Close? in
            table.held += count
            return count > 0 && table.held > Self.heldLimit ? table.removeLongestBusy() : nil
        }
        close?()
    }

    /// Notes that no place is wanted any more: a connection has ended by itself, or the client that wanted the place
    /// has left. Otherwise the next client that took its answer would lose its connection for nothing.
    func placeIsTaken() { self.table.withLock { $0.owesPlace = false } }

    /// Closes one connection, to make room: the connection that has waited longest between two requests. If there is
    /// none, closes the connection that has waited longest. If no connection waits at all, a connection is closed
    /// later; see `owesPlace`. A call of ``placeIsTaken()`` before that time prevents the later close.
    func closeLongest() {
        let close = self.table.withLock { table in
            let close = table.removeLongestIdle() ?? table.removeLongestBusy()
            table.owesPlace = close == nil
            return close
        }
        close?()
    }
}
