internal import FerryBinary
internal import NIOCore

/// The limits and times of the journal.
enum JournalBounds {
    /// A segment is committed when it has this many bytes, or after this time. With nothing under way it is committed at
    /// once if anything waits for it.
    static let segmentLength = 256 << 10
    static let commitTime: TimeAmount = .milliseconds(10)
    /// The commits that the store may have without an answer.
    static let underWay = 16
    /// Without an answer for this time, the store is in trouble. A notification is released only while none has waited for
    /// the store so long.
    static let patience: TimeAmount = .seconds(1)
    /// How long the gateway reads on while nothing is stored. What it has read meanwhile, a kill would lose.
    static let outage: TimeAmount = .minutes(1)
    /// The time between two tries while the store refuses.
    static let retry: TimeAmount = .seconds(1)

    /// How long a segment stays after its last job was answered. Its frames may be needed after a crash.
    static let lifetime = GatewayBounds.crashLifetime
    /// The oldest segments are written anew when fewer than one job in so many is unanswered.
    static let sparseness = 8
    /// With more bytes than this, segments go although an open episode needs them: after a kill its copies are doubles.
    static let pinnedLength = 1 << 30
    static let sweep: TimeAmount = .seconds(1)
    /// Everything after the notification that an error response names was read within this time:
    /// ``FerryBinary/GatewayBounds/age`` and ``FerryBinary/GatewayBounds/journal``, rounded up.
    static let episodeAge: TimeAmount = .seconds(4)
    /// The age in seconds of the frames that a client may send again after a crash.
    static let crashAge = GatewayBounds.crashLifetime.nanoseconds / 1_000_000_000
}
