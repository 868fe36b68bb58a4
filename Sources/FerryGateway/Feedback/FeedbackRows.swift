internal import DequeModule
package import NIOCore

/// The devices that lost the app, for each client stack, until a reader of the feedback service has got them.
///
/// ```
///           ┌────────┐  claim   ┌─────────┐ read to the end
///   add ───▶│ listed │─────────▶│ claimed │────────────────▶ gone
///           └────────┘          └─────────┘
///                ▲  not read, or after 60 s │
///                └──────────────────────────┘
/// ```
package struct FeedbackRows: Sendable {
    /// The rows that one reader has, until it has read all of them.
    package struct Claim: Hashable, Sendable {
        package let id: UInt64
        package let rows: [Row]
    }

    package struct Row: Hashable, Sendable {
        package let token: [UInt8]
        /// UNIX seconds: when APNs found that the app is gone.
        package let since: UInt32
    }

    private struct Claimed {
        var identity: Int
        var rows: [Row]
        var until: NIODeadline
    }

    /// The rows of one client stack. A list of a million tokens is some hundred megabytes.
    package static let limit = 1_000_000
    /// How long a reader may take before its rows are listed again.
    package static let claimTime: TimeAmount = .minutes(1)

    private var listed: [Int: [[UInt8]: UInt32]] = [:]
    private var order: [Int: Deque<[UInt8]>] = [:]
    private var claims: [UInt64: Claimed] = [:]
    private var lastClaim: UInt64 = 0

    package init() {}

    var isEmpty: Bool { self.listed.isEmpty }

    mutating func add(_ row: Row, of identity: Int) {
        guard self.listed[identity, default: [:]].updateValue(row.since, forKey: row.token) == nil else { return }
        self.order[identity, default: []].append(row.token)
        // Removed tokens stay in the order, so that it is longer than the table.
        while self.listed[identity, default: [:]].count > Self.limit
            || self.order[identity, default: []].count > 2 * Self.limit, let oldest = self.order[identity]?.popFirst()
        {
            self.listed[identity]?[oldest] = nil
        }
    }

    /// Removes the row of a token to which APNs has delivered since.
    mutating func remove(_ token: ArraySlice<UInt8>, of identity: Int) {
        guard self.listed[identity] != nil else { return }
        self.listed[identity]?[Array(token)] = nil
    }

    /// Hands out everything that is listed.
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

    /// Notes that the reader has read everything. Too late for rows that are listed again: they come twice.
    package mutating func read(_ claim: Claim) { self.claims[claim.id] = nil }

    /// Lists the rows again: the reader has gone.
    package mutating func giveBack(_ claim: Claim) {
        guard let claimed = self.claims.removeValue(forKey: claim.id) else { return }
        for row in claimed.rows { self.add(row, of: claimed.identity) }
    }

    private mutating func returnOverdue(now: NIODeadline) {
        for (id, claimed) in self.claims where claimed.until <= now {
            self.claims[id] = nil
            for row in claimed.rows { self.add(row, of: claimed.identity) }
        }
    }
}
