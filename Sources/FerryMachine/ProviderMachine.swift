package import FerryCore
package import NIOCore

/// A provider's side of a protocol, without I/O: notifications, bytes, events and time in; bytes, steps, outcomes and
/// events out.
///
/// The owner of a machine repeats four things: it calls an input, carries out ``takeSteps()``, delivers ``outcomes`` and
/// ``takeEvents()``, and asks ``write(_:into:atMost:now:)`` for bytes while a connection takes some. It comes back at
/// ``nextDeadline``. Each call is about a run of notifications or a piece of a stream, never about one notification.
package protocol ProviderMachine: ~Copyable, SendableMetatype {
    /// How many bytes ``write(_:into:atMost:now:)`` should be asked for at a time.
    static var chunk: Int { get }

    /// The books. The owner takes the outcomes that were given from here.
    var outcomes: OutcomeLog { get set }
    /// Whether outcomes wait for their reader, so that nothing more may be written.
    var isPaused: Bool { get set }
    /// Whether anyone wants `transmitted` events, which cost an allocation for each flush.
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
    /// The connection on whose next answer everything queued waits, where few may be under way; nil otherwise.
    var bottleneck: ConnectionID? { get }
    /// Whether something could be written if there were a provider token. Then the owner says ``authorized(_:)`` before it
    /// asks for bytes.
    var needsAuthorization: Bool { get }

    // MARK: Out

    mutating func takeSteps() -> [ConnectionStep]
    mutating func takeEvents() -> [ProviderEvent]
    /// Writes to the end of `buffer`, until that has `limit` bytes; false when there is nothing to write now.
    mutating func write(_ id: ConnectionID, into buffer: inout ByteBuffer, atMost limit: Int, now: Moment) -> Bool

    // MARK: In

    /// Takes notifications. The owner keeps to `queueLimit`.
    mutating func submit(_ run: BatchRun, now: Moment)
    /// Withdraws awaited notifications, by their tags, that were not written yet.
    mutating func withdraw(_ tags: Set<UInt64>, now: Moment)
    mutating func tick(now: Moment)
    mutating func authorized(_ authorization: Authorization)
    mutating func connected(_ id: ConnectionID, now: Moment)
    /// - Parameter handed: how many bytes of the stream below TLS the system took so far.
    mutating func received(_ id: ConnectionID, _ bytes: ByteBuffer, handed: UInt64, now: Moment)
    /// Notes that TLS has taken what was written, up to `offset` of the stream below it.
    mutating func flushed(_ id: ConnectionID, at offset: UInt64, now: Moment)
    mutating func writability(_ id: ConnectionID, isWritable: Bool)
    mutating func sampled(_ id: ConnectionID, _ sample: TransportSample, now: Moment)
    mutating func ended(_ id: ConnectionID, _ end: ConnectionEnd, handed: UInt64, now: Moment)
    /// Sends what was taken and then finishes every connection.
    mutating func shutDown(proof: Proof, now: Moment)
    /// Gives everything that has no outcome one now, and closes every connection.
    ///
    /// - Parameter handed: how many bytes of the stream below TLS the system took, for each connection.
    mutating func abandon(
        undelivered: Outcome.UndeliveredCause,
        uncertain: Outcome.UncertainCause,
        handed: (ConnectionID) -> UInt64,
        now: Moment
    )
}

/// What only some protocols need.
extension ProviderMachine where Self: ~Copyable {
    package var delayedCount: Int { 0 }

    package var bottleneck: ConnectionID? { nil }

    package var needsAuthorization: Bool { false }

    package mutating func authorized(_ authorization: Authorization) {}

    package mutating func writability(_ id: ConnectionID, isWritable: Bool) {}

    package mutating func sampled(_ id: ConnectionID, _ sample: TransportSample, now: Moment) {}
}
