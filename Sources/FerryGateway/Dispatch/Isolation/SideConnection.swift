internal import NIOCore

/// The side connection of an upstream, without I/O. It is for suspicious flows, and for copies that must not go over
/// the connection of an earlier attempt.
///
/// ```
///            dial        three quarters of the budget, lost, or left
///   none ───────────▶ open ────────────────────────────────────────▶ closing ──▶ none
///                                                                     all answers are in
/// ```
///
/// The refusals on a connection and the notifications under way on it stay within its budget together. If APNs closes
/// the connection after the last refusal that the budget allows, no other notification is under way on it. While one
/// connection waits for answers, another may be open. If connections with late answers occupy all places, the oldest
/// such connection is given up. Otherwise missing answers would stop every suspicious flow.
struct SideConnection: Sendable {
    private struct Connection {
        let number: UInt64
        var refusals = 0
        var taken = 0
        var underWay = UnderWay()
        /// The number of accepted notifications since the last refused token; `Int.max` without a refused token.
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

    /// The largest number of notifications under way on one connection. A new connection begins with ``Credit/floor``,
    /// because APNs may accept few refusals on it. Each accepted notification adds one.
    static let underWayLimit = 64
    /// The number of closing connections that may wait for timely answers when a connection is opened. So at most three
    /// connections of an upstream wait for timely answers: two side connections and the common connection.
    static let closingLimit = 1
    /// The number of closing connections beyond ``closingLimit`` that may exist when a connection is opened. All
    /// closing connections beyond ``closingLimit`` wait only for late answers then.
    static let lateLimit = 3
    /// A connection counts as closed because of refusals if it ends with fewer accepted notifications than this since
    /// its last refused token.
    static let closeness = 8

    private var budget = SideBudget()
    private var pace = DialPace()
    private var lastNumber: UInt64 = 0
    private var open: Connection?
    /// The connections that get no more notifications, but still wait for answers.
    private var closing: [Connection] = []
    private var ended: [UInt64] = []

    // MARK: State

    /// The ``SideID/number`` of the open connection; nil if none is open.
    var number: UInt64? { self.open?.number }

    /// The number of notifications that the open connection takes now.
    var room: Int {
        guard let open else { return 0 }
        let limit = min(Self.underWayLimit, Credit.floor + open.taken) - open.underWay.timely
        // Each notification under way, even a late one, may still be refused.
        return max(min(limit, self.budget.size - open.refusals - open.underWay.count), 0)
    }

    /// When ``dial(now:)`` may open a connection; nil if a connection is open, or if too many connections wait for
    /// answers.
    var dialAt: NIODeadline? {
        let timely = self.closing.count { $0.underWay.timely > 0 }
        return self.open == nil && timely <= Self.closingLimit && self.hasPlace ? self.pace.nextAt : nil
    }

    private var hasPlace: Bool { self.closing.count <= Self.closingLimit + Self.lateLimit }

    /// Removes and returns the connections to close. Only late answers may still come on them.
    mutating func takeEnded() -> [UInt64] {
        defer { self.ended = [] }
        return self.ended
    }

    // MARK: Changes

    /// Opens a connection if ``dialAt`` has come. If ``dialAt`` is nil or later, does nothing.
    mutating func dial(now: NIODeadline) {
        guard let dialAt, dialAt <= now else { return }
        self.pace.dialled(now: now)
        self.lastNumber += 1
        self.open = Connection(number: self.lastNumber)
    }

    /// Notes that a notification is sent over the open connection.
    mutating func wentOut() { self.open?.underWay.wentOut() }

    /// Notes that a notification of this connection has its outcome.
    ///
    /// - Parameter ticks: the number of ticks since the notification was sent.
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

    /// Notes that a connection ended by itself. The connection's provider may still have notifications without an
    /// outcome.
    mutating func lost(_ number: UInt64, now: NIODeadline) {
        let lost = self.open?.number == number ? self.open : self.closing.first { $0.number == number }
        guard let lost else { return }
        if lost.refusals > 0, lost.answersSinceRefusal < Self.closeness {
            self.budget.wasClosed(after: lost.refusals, now: now)
        }
        if self.open?.number == number { self.retire() }
    }

    /// Sends nothing more over a connection, for example because the answer to a notification is missing on this
    /// connection. The copy of this notification must then go over another connection.
    mutating func leave(_ number: UInt64) {
        if self.open?.number == number { self.retire() }
    }

    /// Begins a tick. If late answers leave no room on the open connection, the connection gets no more
    /// notifications. If a new connection is wanted and closing connections occupy all places, the oldest connection
    /// that waits only for late answers is given up.
    ///
    /// - Parameter isWanted: whether a notification waits for a side connection.
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
