internal import DequeModule
package import NIOCore

/// The devices that lost the app, for each client. A device stays listed until a reader of the feedback service has
/// received the row of the device. A row also goes if APNs accepts a later notification to its token, or if the client
/// has more rows than ``limit``.
///
/// ```
///           ┌────────┐  claim   ┌─────────┐ read to the end
///   add ───▶│ listed │─────────▶│ claimed │────────────────▶ gone
///           └────────┘          └─────────┘
///                ▲  not read, or after 60 s │
///                └──────────────────────────┘
/// ```
package struct FeedbackRows: Sendable {
    /// The rows that were given to one reader. The rows count as read when the reader has received all of them.
    package struct Claim: Hashable, Sendable {
        package let id: UInt64
        package let rows: [Row]
    }

    package struct Row: Hashable, Sendable {
        package let token: [UInt8]
        /// When APNs found that the device had lost the app, in UNIX seconds.
        package let since: UInt32

        package init(token: [UInt8], since: UInt32) {
            self.token = token
            self.since = since
        }
    }

    private struct Claimed {
        var identity: Int
        var rows: [Row]
        var until: NIODeadline
    }

    /// Where readers find the rows.
    package enum Place: Sendable {
        /// In this table, until the process ends.
        case memory
        /// In this table. The store of this gateway has the rows, too, so they are here again after a restart.
        case store
        /// In a ``SharedStore``. This table has only the newest rows of this gateway. With these rows, the table
        /// finds the row of a device that has the app again, and removes the row from the store.
        case sharedStore
    }

    /// The largest number of rows of one client. A million rows take about a hundred megabytes.
    package static let limit = 1_000_000
    /// The largest number of rows of one client in this table if a ``SharedStore`` has the rows. No reader takes these
    /// rows out of the table.
    package static let sharedLimit = 10_000
    /// How long a reader may take. After this time, the next claim lists the reader's rows again.
    package static let claimTime: TimeAmount = .minutes(1)

    private var listed: [Int: [[UInt8]: UInt32]] = [:]
    private var order: [Int: Deque<[UInt8]>] = [:]
    private var claims: [UInt64: Claimed] = [:]
    private var lastClaim: UInt64 = 0

    private let place: Place
    private let limit: Int
    /// The changes for the store; empty without a store.
    private var changes: [Change] = []

    /// A change that the store must make.
    struct Change: Hashable, Sendable {
        var identity: Int
        var token: [UInt8]
        /// The new time; nil if the row is removed.
        var since: UInt32?
    }

    package init(in place: Place = .memory) {
        self.place = place
        self.limit = place == .sharedStore ? Self.sharedLimit : Self.limit
    }

    /// Removes and returns the changes for the store. Claimed rows stay in the store until they are read.
    mutating func takeChanges() -> [Change] {
        defer { self.changes = [] }
        return self.changes
    }

    private mutating func note(_ identity: Int, _ token: [UInt8], _ since: UInt32?) {
        if self.place != .memory { self.changes.append(Change(identity: identity, token: token, since: since)) }
    }

    /// Lists a row that came from the store.
    mutating func restore(_ row: Row, of identity: Int) {
        self.insert(row, of: identity)
        self.changes = []
    }

    var isEmpty: Bool { self.listed.isEmpty }

    /// The number of devices that are listed for a client.
    func count(of identity: Int) -> Int { self.listed[identity]?.count ?? 0 }

    mutating func add(_ row: Row, of identity: Int) {
        self.note(identity, row.token, row.since)
        self.insert(row, of: identity)
    }

    private mutating func insert(_ row: Row, of identity: Int) {
        guard self.listed[identity, default: [:]].updateValue(row.since, forKey: row.token) == nil else { return }
        self.order[identity, default: []].append(row.token)
        // A removed token stays in the order, so the order can be longer than the table.
        while self.listed[identity, default: [:]].count > self.limit
            || self.order[identity, default: []].count > 2 * self.limit, let oldest = self.order[identity]?.popFirst()
        {
            guard self.listed[identity]?.removeValue(forKey: oldest) != nil, self.place != .sharedStore else {
                continue
            }
            self.note(identity, oldest, nil)
        }
    }

    /// Removes the row of a token, because APNs has accepted a later notification to it.
    mutating func remove(_ token: ArraySlice<UInt8>, of identity: Int) {
        guard self.listed[identity]?.removeValue(forKey: Array(token)) != nil else { return }
        self.note(identity, Array(token), nil)
    }

    /// Gives all listed rows to a reader.
    package mutating func claim(_ identity: Int, now: NIODeadline) -> Claim {
        self.returnOverdue(now: now)
        var table = self.listed.removeValue(forKey: identity) ?? [:]
        let rows = (self.order.removeValue(forKey: identity) ?? []).compactMap { token in
            table.removeValue(forKey: token).map { Row(token: token, since: $0) }
        }
        self.lastClaim += 1
        if !rows.isEmpty {
            self.claims[self.lastClaim] = Claimed(identity: identity, rows: rows, until: now + Self.claimTime)
        }
        return Claim(id: self.lastClaim, rows: rows)
    }

    /// Notes that the reader has received all rows. If a later claim has already listed these rows again after
    /// ``claimTime``, this call has no effect, and another reader gets the rows a second time.
    package mutating func read(_ claim: Claim) {
        guard let claimed = self.claims.removeValue(forKey: claim.id) else { return }
        // If the token was listed again meanwhile, the store keeps the new row.
        for row in claimed.rows { self.note(claimed.identity, row.token, self.listed[claimed.identity]?[row.token]) }
    }

    /// Lists the rows again, because the reader has gone.
    package mutating func giveBack(_ claim: Claim) {
        guard let claimed = self.claims.removeValue(forKey: claim.id) else { return }
        for row in claimed.rows { self.insert(row, of: claimed.identity) }
    }

    private mutating func returnOverdue(now: NIODeadline) {
        for (id, claimed) in self.claims where claimed.until <= now {
            self.claims[id] = nil
            for row in claimed.rows { self.insert(row, of: claimed.identity) }
        }
    }
}
