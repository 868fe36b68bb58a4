internal import DequeModule
internal import FerryCore

/// The connections of a server that wait for a whole request, the longest wait first. Safe from any thread.
///
/// A server that has as many connections as it may have closes the one that has waited longest. Otherwise clients that send
/// nothing, or a byte now and then, would keep all others out for 30 s.
final class WaitingConnections: Sendable {
    /// One wait of one connection.
    typealias Wait = UInt64

    private struct Table {
        /// The waits in their order. Those that have ended stay until ``compact()``.
        var order: Deque<Wait> = []
        var closers: [Wait: @Sendable () -> Void] = [:]
        var last: Wait = 0
        /// The bytes of all requests without an answer.
        var held = 0
        /// Whether a place was wanted when no connection waited. The next connection that has had its answer gives it.
        var owesPlace = false

        /// Bounds `order` by twice the number of waits.
        mutating func compact() {
            guard self.order.count > 2 * self.closers.count + 64 else { return }
            self.order = self.order.filter { self.closers[$0] != nil }
        }

        mutating func removeLongest() -> (@Sendable () -> Void)? {
            while let wait = self.order.popFirst() {
                if let close = self.closers.removeValue(forKey: wait) { return close }
            }
            return nil
        }
    }

    /// The bytes of requests without an answer that all connections may hold: some 7,000 posts of the App Store.
    static let heldLimit = 128 << 20

    private let table = Locked(Table())

    /// Begins a wait.
    ///
    /// - Parameters:
    ///   - isNew: whether the connection was just accepted. It may have a request to send, so it keeps its place.
    ///   - close: closes the connection unless a request has come. Called once at most, from any thread.
    func begin(isNew: Bool, _ close: @escaping @Sendable () -> Void) -> Wait {
        let (wait, owesPlace) = self.table.withLock { table in
            table.last += 1
            guard isNew || !table.owesPlace else {
                table.owesPlace = false
                return (table.last, true)
            }
            table.order.append(table.last)
            table.closers[table.last] = close
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
    /// has waited longest: a genuine request is whole within a moment.
    func hold(_ count: Int) {
        guard count != 0 else { return }
        let isTooMuch = self.table.withLock { table in
            table.held += count
            return count > 0 && table.held > Self.heldLimit
        }
        if isTooMuch { self.closeLongest() }
    }

    /// Closes the connection that has waited longest; if none waits, the next one that has had its answer.
    func closeLongest() {
        let close = self.table.withLock { table in
            let close = table.removeLongest()
            table.owesPlace = close == nil
            return close
        }
        close?()
    }
}
