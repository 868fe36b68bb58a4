/// The counts of the notifications that the gateway has read, by their fate.
///
/// Two sums always hold. ``read``, ``recovered`` and ``retried`` together equal ``forwarded``, ``waiting``,
/// ``swallowed``, ``refusedHere``, ``knownBad`` and ``droppedUnsent`` together. The final answers, ``moved`` and
/// ``unanswered`` together equal ``forwarded``, ``waiting`` and ``droppedUnsent`` together.
package struct FateCounts: Hashable, Codable, Sendable {
    package init() {}

    /// Notifications that were read whole, faulty ones too.
    package var read = 0
    /// Notifications of an earlier process that the store had without an answer.
    package var recovered = 0
    /// Letters that an operator sent again.
    package var retried = 0
    /// Notifications that went to the upstream, each counted once.
    package var forwarded = 0
    /// Notifications that wait and were never sent.
    package var waiting = 0
    /// Copies of notifications that had been read before.
    package var swallowed = 0
    /// Notifications that the gateway itself refused.
    package var refusedHere = 0
    /// Notifications that the gateway refused because no error response had told APNs' earlier refusal of the token.
    package var knownBad = 0
    /// Notifications that ended before they went to the upstream: they expired, became dead letters or went to another
    /// owner.
    package var droppedUnsent = 0

    /// Forwarded notifications that APNs accepted.
    package var accepted = 0
    package var gone = 0
    package var refused = 0
    package var expired = 0
    package var deadLetters = 0
    /// Notifications that may have arrived, and are not sent again.
    package var unknown = 0
    /// Notifications without a final answer, whose shard has another owner now; nil if no shard of this process has
    /// moved.
    package var moved: Int?
    var movedOrNone: Int { self.moved ?? 0 }

    /// Notifications that may have arrived, and are sent once more.
    package var copies = 0
    /// Error responses that told clients a rejection.
    package var told = 0
    /// Rejections that no error response told. The gateway may refuse the next push to the token instead.
    package var deferred = 0
    /// Notifications that clients count as accepted without an answer.
    package var released = 0

    /// Lines of the list of rejections that wait for its file.
    package var unwritten = 0
    /// Lines of the list of rejections that were given up, so that the file never gets them.
    package var unlisted = 0

    /// Notifications that may have arrived. Each has a line in the list.
    package var uncertain: Int { self.unknown + self.copies }

    /// Notifications without a final answer.
    package var unanswered: Int {
        self.forwarded + self.waiting + self.droppedUnsent
            - (self.accepted + self.gone + self.refused + self.expired + self.deadLetters + self.unknown
                + self.movedOrNone)
    }

    /// Whether every notification is counted under exactly one fate.
    package var isConserved: Bool {
        self.read + self.recovered + self.retried
            == self.forwarded + self.waiting + self.swallowed + self.refusedHere + self.knownBad + self.droppedUnsent
    }

    /// The counts of a gateway that has ended, after another one has taken its notifications.
    var left: FateCounts {
        var counts = self
        counts.moved = self.movedOrNone + self.unanswered
        counts.droppedUnsent += self.waiting
        counts.waiting = 0
        return counts
    }

    /// Adds the counts of another client, or of another gateway.
    mutating func add(_ other: FateCounts) {
        self.read += other.read
        self.recovered += other.recovered
        self.retried += other.retried
        self.forwarded += other.forwarded
        self.waiting += other.waiting
        self.swallowed += other.swallowed
        self.refusedHere += other.refusedHere
        self.knownBad += other.knownBad
        self.droppedUnsent += other.droppedUnsent
        self.accepted += other.accepted
        self.gone += other.gone
        self.refused += other.refused
        self.expired += other.expired
        self.deadLetters += other.deadLetters
        self.unknown += other.unknown
        if let moved = other.moved { self.moved = self.movedOrNone + moved }
        self.copies += other.copies
        self.told += other.told
        self.deferred += other.deferred
        self.released += other.released
        self.unwritten += other.unwritten
        self.unlisted += other.unlisted
    }
}
