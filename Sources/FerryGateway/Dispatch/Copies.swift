internal import DequeModule
internal import FerryCore
internal import NIOCore

/// The notifications that may have arrived, and must be sent once more over another connection.
///
/// The reset of a stream does not end its connection. On the same connection, the copy could be reset, too, or get no
/// answer again. So copies go over a side connection, where copies and suspicious flows take turns.
///
/// Memory: one entry for each waiting copy, and for each copy that went out before an older copy.
struct Copies: Sendable {
    /// A notification, and the time until which it may wait.
    struct Entry: Sendable {
        var job: JobID
        var until: NIODeadline
    }

    var turns = ConnectionTurns()
    /// The entries in the order of their times.
    private var entries: Deque<Entry> = []
    /// Whether a copy has the next turn, before a suspicious flow. If copies always came first on a new connection and
    /// got no answer, suspicious flows would never go out.
    private var isNext = false

    var isEmpty: Bool { self.turns.isEmpty }

    /// The time until which the first entry may wait.
    var deadline: NIODeadline? { self.entries.first?.until }

    mutating func append(_ job: JobID, on connection: ConnectionID, until: NIODeadline) {
        self.turns.append(job, on: connection)
        self.entries.append(Entry(job: job, until: until))
    }

    /// Returns whether a copy goes next. Copies and suspicious flows alternate.
    ///
    /// - Parameter hasOthers: whether a suspicious flow waits, too.
    mutating func takesTurn(hasOthers: Bool) -> Bool {
        guard !self.isEmpty else { return false }
        guard hasOthers else { return true }
        self.isNext.toggle()
        return !self.isNext
    }

    /// Removes the entries at the front for which `isOver` is true.
    mutating func removeEntries(while isOver: (Entry) -> Bool) {
        while let first = self.entries.first, isOver(first) { self.entries.removeFirst() }
    }

    /// Removes and returns the first entry that is due.
    mutating func popEntry(dueBy now: NIODeadline) -> Entry? {
        guard let first = self.entries.first, first.until <= now else { return nil }
        return self.entries.removeFirst()
    }
}
