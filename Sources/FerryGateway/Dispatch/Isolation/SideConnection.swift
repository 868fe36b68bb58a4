internal import NIOCore

/// The connection of an upstream for clients whose tokens are refused, and for copies that must not go over the connection
/// that has their first one. Without I/O.
///
/// ```
///            dial        three quarters of the budget, lost, or left
///   none ───────────▶ open ────────────────────────────────────────▶ closing ──▶ none
///                                                                     all answers are in
/// ```
///
/// A connection takes no more than its budget leaves. So when APNs closes it for the last refusal, nothing is under way
/// on it. While the answers of one are awaited, another may be open, and when late answers keep all places, the oldest
/// connection is given up: answers that stay away must not stop every suspicious client.
struct SideConnection: Sendable {
    private struct Connection {
        let number: UInt64
        var refusals = 0
        var taken = 0
        var underWay = UnderWay()
        /// The answers since the last refused token.
        var answersSinceRefusal = Int.max

        mutating func count(_ verdict: Verdict, after ticks: UInt32) {
            self.underWay.returned(after: ticks)
            switch verdict {
            case .taken:
                self.taken += 1
                if self.answersSinceRefusal < .max { self.answersSinceRefusal += 1 }
            case .countable:
                self.refusals += 1
                self.answersSinceRefusal = 0
            case .failed, .other:
                break
            }
        }
    }

    /// The notifications that may be under way on it. A new connection begins with ``Credit/floor``, and has one more for
    /// each that APNs took: it may be one on which APNs takes few refusals.
    static let underWayLimit = 64
    /// The connections whose last answers are awaited while another is open. With the common one, an upstream has
    /// three.
    static let closingLimit = 1
    /// The connections with late answers only that there may be beyond ``closingLimit``.
    static let lateLimit = 3
    /// A connection that ends within this many answers after a refused token was closed because of refusals.
    static let closeness = 8

    private var budget = SideBudget()
    private var pace = DialPace()
    private var lastNumber: UInt64 = 0
    private var open: Connection?
    /// They take nothing more, and their answers are awaited.
    private var closing: [Connection] = []
    private var ended: [UInt64] = []

    // MARK: What is here

    /// The number of the connection that takes notifications.
    var number: UInt64? { self.open?.number }

    /// How many notifications it takes now.
    var room: Int {
        guard let open else { return 0 }
        let limit = min(Self.underWayLimit, Credit.floor + open.taken) - open.underWay.timely
        // A late answer may be a refusal, too.
        return max(min(limit, self.budget.size - open.refusals - open.underWay.count), 0)
    }

    /// When ``dial(now:)`` may open one; nil: one is open, or the answers of two are awaited.
    var dialAt: NIODeadline? {
        let timely = self.closing.count { $0.underWay.timely > 0 }
        return self.open == nil && timely <= Self.closingLimit && self.hasPlace ? self.pace.nextAt : nil
    }

    private var hasPlace: Bool { self.closing.count <= Self.closingLimit + Self.lateLimit }

    /// Removes and returns the connections that are to be closed. Only late answers are under way on them, if any.
    mutating func takeEnded() -> [UInt64] {
        defer { self.ended = [] }
        return self.ended
    }

    // MARK: Changes

    /// Opens a connection, if none is open and the time has come.
    mutating func dial(now: NIODeadline) {
        guard let dialAt, dialAt <= now else { return }
        self.pace.dialled(now: now)
        self.lastNumber += 1
        self.open = Connection(number: self.lastNumber)
    }

    /// Notes that a notification goes over the open connection.
    mutating func wentOut() { self.open?.underWay.wentOut() }

    /// Notes that a notification of this connection has its outcome.
    ///
    /// - Parameter ticks: how many ticks ago it went out.
    mutating func returned(_ number: UInt64, _ verdict: Verdict, after ticks: UInt32 = 0, now: NIODeadline) {
        if self.open?.number == number {
            self.open?.count(verdict, after: ticks)
            guard let open, open.refusals >= self.budget.threshold else { return }
            self.budget.wasUsed(now: now)
            self.retire()
        } else if let index = self.closing.firstIndex(where: { $0.number == number }) {
            self.closing[index].count(verdict, after: ticks)
            if self.closing[index].underWay.count == 0 { self.end(self.closing.remove(at: index)) }
        }
    }

    /// Notes that the connection ended, and not by ``takeEnded()``. Its provider may still have notifications.
    mutating func lost(_ number: UInt64, now: NIODeadline) {
        let lost = self.open?.number == number ? self.open : self.closing.first { $0.number == number }
        guard let lost else { return }
        if lost.refusals > 0, lost.answersSinceRefusal < Self.closeness {
            self.budget.wasClosed(after: lost.refusals, now: now)
        }
        if self.open?.number == number { self.retire() }
    }

    /// Lets a connection take nothing more, because an answer on it stayed away. The copy of that notification goes
    /// over another.
    mutating func leave(_ number: UInt64) {
        if self.open?.number == number { self.retire() }
    }

    /// Lets late answers keep nothing more. A connection that takes nothing because of them makes place for the next, and
    /// so does the oldest one that waits for nothing else.
    ///
    /// - Parameter isWanted: whether something waits for a side connection.
    mutating func tick(isWanted: Bool) {
        self.open?.underWay.tick()
        for index in self.closing.indices { self.closing[index].underWay.tick() }
        if let open, self.room == 0, open.underWay.timely == 0 { self.retire() }
        guard isWanted, self.open == nil, !self.hasPlace,
            let oldest = self.closing.firstIndex(where: { $0.underWay.timely == 0 })
        else { return }
        self.end(self.closing.remove(at: oldest))
    }

    private mutating func retire() {
        guard let open else { return }
        self.open = nil
        if open.underWay.count == 0 { self.end(open) } else { self.closing.append(open) }
    }

    private mutating func end(_ connection: Connection) {
        self.pace.ended(answers: connection.refusals + connection.taken)
        self.ended.append(connection.number)
    }
}
