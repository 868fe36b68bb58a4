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

/// What the client knows about one open connection.
struct Connection {
    let id: ConnectionID
    var cache: NotificationCache
    var silence = Silence()
    var responses = ErrorResponseDecoder()
    /// The sequence number of the probe that was written, and when.
    var probe: (sequence: UInt64, writtenAt: NIODeadline)?
    /// Whether a notification was proved or presumed accepted on it.
    var hasProgress = false
    /// The sequence number before which every outcome was proved.
    private(set) var provedTo: UInt64
    /// How many notifications the peer accepted on it, as far as is known.
    var accepted = 0
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
        self.activeAt = now
    }

    mutating func noteProof(before end: UInt64) {
        self.provedTo = max(self.provedTo, end)
    }

    /// Whether notifications may be written: not after a probe, nor after the end of the stream.
    var takesNotifications: Bool { self.probe == nil && self.finishingUntil == nil }

    var isFinishing: Bool { self.finishingUntil != nil }
}
