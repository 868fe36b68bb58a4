internal import FerryCore
internal import FerryMachine
internal import NIOCore

/// One of a provider's `maxConnections` places for a connection, with the notifications that belong there.
///
/// ```
///            work                 TLS is up
///   idle ───────────▶ dialing ──────────────▶ open ──┐
///    ▲ ▲                 │                     │     │ everything settled, shutting down
///    │ └── time ── waiting ◀── failed ─────────┤     ▼
///    │                                         │   finishing
///    └────────────── ended, no failure ────────┴─────┘
/// ```
struct Lane {
    /// The way to the next connection.
    enum Dial {
        case idle
        /// After a failure, or for want of permission to dial.
        case waiting(until: NIODeadline)
        case dialing(ConnectionID, since: NIODeadline)
    }

    /// Has a meaning only while there is no connection.
    var dial: Dial = .idle
    var connection: Connection?
    var queue = RunQueue()
    var backOff: BackOff
    /// When the first of its failures in a row was.
    var failingSince = NIODeadline.uptimeNanoseconds(0)
    var isolation: Isolation?
    var window = Window()
    /// How many notifications were accepted since the peer last ended some.
    var acceptedSinceError = 0
    /// Connections in a row that the peer closed without a word and without progress.
    var wordlessCloses = 0
    /// Connections in a row on which the peer did not speak the protocol.
    var violations = 0

    init(backOff: BackOff) {
        self.backOff = backOff
    }

    var connectionID: ConnectionID? {
        if let connection = self.connection { return connection.id }
        if case .dialing(let id, _) = self.dial { return id }
        return nil
    }
}

/// A notification that the peer must reject, the last on its connection.
struct Probe {
    /// How a peer that does not answer it leaves what was written before it.
    enum Purpose {
        /// A shutdown: everything before it had been silent for a settle time, so silence may count.
        case end
        /// Anything else.
        case room
    }

    var sequence: UInt64
    var writtenAt: NIODeadline
    var purpose: Purpose
    /// Whether the peer may still answer it.
    var isAwaited = true
}

/// What the client knows about one open connection.
struct Connection {
    /// What came of it so far.
    enum Progress: Comparable {
        case none
        /// A notification was presumed accepted.
        case presumed
        /// The peer's own word settled a notification.
        case proved
    }

    let id: ConnectionID
    var cache: NotificationCache
    var silence = Silence()
    var responses = ErrorResponseDecoder()
    var probe: Probe?
    private(set) var progress = Progress.none
    /// What the peer said last.
    var lastWord = LastWord.none
    /// How many responses confirmed nothing.
    var idleResponses = 0
    /// The sequence number before which every outcome was proved.
    private(set) var provedTo: UInt64
    /// The sequence number before which a search has heard the peer's silence.
    var clearedTo: UInt64
    var isWritable = true
    /// Whether its end brought the search for a culprit forward.
    var hasNarrowed = false
    /// When it last carried something.
    var activeAt: NIODeadline
    /// Half-closed by us: it waits for the peer to have read everything, and for late errors.
    var finishingUntil: NIODeadline?

    init(id: ConnectionID, firstSequence: UInt64, now: NIODeadline) {
        self.id = id
        self.cache = NotificationCache(start: firstSequence)
        self.provedTo = firstSequence
        self.clearedTo = firstSequence
        self.activeAt = now
    }

    mutating func progressed(_ progress: Progress) {
        self.progress = max(self.progress, progress)
    }

    /// How many notifications have an outcome that rests on silence.
    var presumedCount: Int {
        let settledTo = min(self.cache.settledTo, self.probe?.sequence ?? .max)
        return Int(settledTo - min(self.provedTo, settledTo))
    }

    mutating func noteProof(before end: UInt64) {
        self.provedTo = max(self.provedTo, end)
    }

    /// Whether notifications may be written: not after a probe, nor after the end of the stream.
    var takesNotifications: Bool { self.probe == nil && self.finishingUntil == nil }

    var isFinishing: Bool { self.finishingUntil != nil }
}
