internal import DequeModule
internal import FerryCore
internal import NIOCore

/// The notifications that may have arrived, and must go out once more over another connection than before.
///
/// A stream that was reset says nothing of its connection, which lives on. On the same connection, the copy would meet the
/// same trouble. So it goes over a side connection, which is dialled for it, and takes turns with suspicious flows there.
///
/// Memory: those that wait, and for each one that waited an entry until no older one waits.
struct Copies: Sendable {
    /// One notification, and the time until which it may wait.
    struct Entry: Sendable {
        var job: JobID
        var until: NIODeadline
    }

    var turns = ConnectionTurns()
    /// In the order of their times.
    private var entries: Deque<Entry> = []
    /// Whether a copy has the next turn, and not a suspicious flow. The answer to a copy may stay away, too: it must not be
    /// the first on a new connection each time.
    private var isNext = false

    var isEmpty: Bool { self.turns.isEmpty }

    /// The time at which the first one may have waited for too long.
    var deadline: NIODeadline? { self.entries.first?.until }

    mutating func append(_ job: JobID, on connection: ConnectionID, until: NIODeadline) {
        self.turns.append(job, on: connection)
        self.entries.append(Entry(job: job, until: until))
    }

    /// Returns whether a copy goes next. The other side gets the turn after it.
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
