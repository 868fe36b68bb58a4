internal import FerryBinary
internal import FerryCore
internal import FerryMachine
internal import NIOCore

/// What a ``ProviderDriver`` runs: the machine of a protocol, without I/O.
///
/// The driver calls an input, carries out ``takeSteps(now:)``, delivers ``takeOutcomes(_:)`` and ``takeEvents()``, asks
/// ``write(_:into:atMost:now:)`` for bytes while a connection takes some, and comes back at ``nextDeadline``. Each call
/// is about a run of notifications or a piece of a stream, never about one notification.
protocol ProviderWire: ~Copyable, SendableMetatype {
    /// The books.
    var outcomes: OutcomeLog { get }
    /// Whether outcomes wait for their reader, so that nothing more may be written.
    var isPaused: Bool { get set }
    /// Whether anyone wants `transmitted` events.
    var reportsTransmitted: Bool { get set }

    var queuedCount: Int { get }
    /// How many of those queued wait for a time to come.
    var delayedCount: Int { get }
    var unsettledCount: Int { get }
    /// Whether everything has its outcome.
    var isSettled: Bool { get }
    /// Whether a shutdown is complete: everything settled and every connection gone.
    var isFinished: Bool { get }
    /// When ``tick(now:)`` has something to do; nil when never.
    var nextDeadline: NIODeadline? { get }
    /// The connection on whose next answer all that is queued waits, where few may be under way; nil otherwise.
    var bottleneck: ConnectionID? { get }

    // MARK: Out

    mutating func takeSteps(now: Moment) -> [WireStep]
    mutating func takeEvents() -> [ProviderEvent]
    /// Exchanges what was given and not delivered for `empty`, whose memory it goes on with.
    mutating func takeOutcomes(_ empty: inout GivenOutcomes)
    /// Writes to the end of `buffer`, until that has `limit` bytes; false when there is nothing to write now.
    mutating func write(_ id: ConnectionID, into buffer: inout ByteBuffer, atMost limit: Int, now: Moment) -> Bool

    // MARK: In

    mutating func submit(_ run: BatchRun, now: Moment)
    /// Withdraws awaited notifications, by their tags, that were not written yet.
    mutating func withdraw(_ tags: Set<UInt64>, now: Moment)
    mutating func tick(now: Moment)
    mutating func connected(_ id: ConnectionID, now: Moment)
    /// - Parameter handed: how many bytes of the stream below TLS the system took so far.
    mutating func received(_ id: ConnectionID, _ bytes: ByteBuffer, handed: UInt64, now: Moment)
    /// Notes that TLS has taken what was written, up to `offset` of the stream below it.
    mutating func flushed(_ id: ConnectionID, at offset: UInt64, now: Moment)
    mutating func writability(_ id: ConnectionID, isWritable: Bool)
    mutating func sampled(_ id: ConnectionID, _ sample: TransportSample, now: Moment)
    mutating func ended(_ id: ConnectionID, _ end: ConnectionEnd, handed: UInt64, now: Moment)
    mutating func shutDown(proof: Proof, now: Moment)
    /// Gives everything that has no outcome one now, and closes every connection.
    mutating func abandon(
        undelivered: Outcome.UndeliveredCause,
        uncertain: Outcome.UncertainCause,
        handed: (ConnectionID) -> UInt64,
        now: Moment
    )
}

/// Outcomes on their way from a machine to those who wait for them.
struct GivenOutcomes {
    var records: [OutcomeRecord] = []
    /// Those of notifications that someone awaits.
    var awaited: [OutcomeRecord] = []

    var isEmpty: Bool { self.records.isEmpty && self.awaited.isEmpty }

    /// Exchanges them with those of `log`.
    mutating func exchange(with log: inout OutcomeLog) {
        swap(&self.records, &log.records)
        swap(&self.awaited, &log.awaited)
    }

    mutating func removeAll() {
        self.records.removeAll(keepingCapacity: true)
        self.awaited.removeAll(keepingCapacity: true)
    }
}

/// What a wire wants done with its connections.
enum WireStep {
    /// Connect, TLS included; then say `connected` or `ended`.
    case dial(ConnectionID)
    /// Close at once and drop what was not sent. No `ended` is expected.
    case close(ConnectionID)
    /// Close in an orderly way after what was written.
    case finish(ConnectionID)
    /// Ask the operating system, then say `sampled`.
    case sample(ConnectionID)
}

/// What only some protocols want to know.
extension ProviderWire where Self: ~Copyable {
    var delayedCount: Int { 0 }

    var bottleneck: ConnectionID? { nil }

    mutating func writability(_ id: ConnectionID, isWritable: Bool) {}

    mutating func sampled(_ id: ConnectionID, _ sample: TransportSample, now: Moment) {}
}
