package import FerryCore
package import NIOCore

/// A provider's client of one protocol, without I/O. Notifications, bytes, events and time go in. Bytes, steps,
/// outcomes and events come out.
///
/// The owner of a machine repeats four steps. It calls an input. It carries out ``takeSteps()``. It delivers
/// ``outcomes`` and ``takeEvents()``. It asks ``write(_:into:atMost:now:)`` for bytes while a connection takes some. It
/// calls ``tick(now:)`` at ``nextDeadline``. Each call is for a run of notifications or a piece of a stream, never for
/// one notification.
package protocol ProviderMachine: ~Copyable, SendableMetatype {
    /// The number of bytes to ask ``write(_:into:atMost:now:)`` for at a time.
    static func chunk(of id: ConnectionID) -> Int

    /// The outcomes and the counts. The owner takes new outcomes from here.
    var outcomes: OutcomeLog { get set }
    /// Whether no further notification may be written: outcomes wait for their reader, or the right to send is missing.
    var isPaused: Bool { get set }
    /// Whether the program wants `transmitted` events, which cost an allocation for each flush.
    var reportsTransmitted: Bool { get set }

    var queuedCount: Int { get }
    /// The number of queued notifications that wait for a later time.
    var delayedCount: Int { get }
    var unsettledCount: Int { get }
    /// Whether a connection takes notifications, now or after others have their outcome, or will be made once the limit
    /// of new connections allows it.
    var hasUsableConnection: Bool { get }
    /// Whether every notification has its outcome.
    var isSettled: Bool { get }
    /// Whether a shutdown is complete: every notification is settled, and every connection has ended.
    var isFinished: Bool { get }
    /// The time of the next call of ``tick(now:)``; nil if no call is needed.
    var nextDeadline: NIODeadline? { get }
    /// The connections whose silent peers ``tick(now:)`` would judge. The owner reads their sockets first.
    func judged(at now: NIODeadline) -> [ConnectionID]
    /// The connection whose next answer all queued notifications wait for, because few may be in flight; nil otherwise.
    var bottleneck: ConnectionID? { get }
    /// Whether a request waits for a provider token. If so, call ``authorized(_:)`` before asking for bytes.
    var needsAuthorization: Bool { get }

    /// Returns whether the notification at `index` of `run` may be sent. If not, the machine would reject it without
    /// asking the peer.
    func takes(_ run: BatchRun, at index: Int) -> Bool
    /// Returns whether the machine ``takes(_:at:)`` each notification of `run`.
    func takesAll(_ run: BatchRun) -> Bool
    /// Returns the reason why ``takes(_:at:)`` is false; nil if it is true.
    func refusal(of run: BatchRun, at index: Int) -> Rejection?
    /// Calls `visit` with each notification that has no outcome.
    ///
    /// - Parameter isInFlight: whether to visit only written notifications.
    func visitUnsettled(inFlight isInFlight: Bool, _ visit: (BatchEntry) -> Void)

    // MARK: Out

    mutating func takeSteps() -> [ConnectionStep]
    mutating func takeEvents() -> [ProviderEvent]
    /// Like ``takeEvents()``, with the protocol of each event.
    mutating func takeSidedEvents() -> [SidedEvent]
    /// Keeps the counts of PINGs from now on, for ``takePings()``. An owner without an observer does not call it.
    mutating func countPings()
    /// Returns the counts of PINGs since the last call.
    mutating func takePings() -> ProviderActivity.Pings
    /// Measures the times from submission to outcome from now on, for ``takeTimes(until:)``.
    mutating func measureTimes()
    /// Returns the times of the outcomes since the last call. They end at `now`.
    mutating func takeTimes(until now: NIODeadline) -> ProviderActivity.Times
    /// Appends bytes to `buffer` until it has `limit` bytes. Returns false if there is nothing to write now.
    mutating func write(_ id: ConnectionID, into buffer: inout ByteBuffer, atMost limit: Int, now: Moment) -> Bool

    // MARK: In

    /// Takes notifications. The owner enforces `queueLimit`.
    mutating func submit(_ run: BatchRun, now: Moment)
    /// Takes back the notifications without an outcome that are not written, or that wait for their next copy. They
    /// come in the order of submission, and belong to the caller again. O(queued).
    ///
    /// - Parameter tainted: whether notifications of which an earlier copy may have arrived come back, too.
    mutating func recall(tainted: Bool, where isMeant: (BatchEntry) -> Bool, now: Moment) -> [BatchRun]
    /// Notes trouble that the owner has found.
    mutating func failed(_ error: ProviderError, now: Moment)
    /// Withdraws the awaited notifications with `tags` that were not written yet.
    mutating func withdraw(_ tags: Set<UInt64>, now: Moment)
    mutating func tick(now: Moment)
    mutating func authorized(_ authorization: Authorization)
    mutating func connected(_ id: ConnectionID, now: Moment)
    /// - Parameter handed: the number of bytes of the stream below TLS that the system took so far.
    mutating func received(_ id: ConnectionID, _ bytes: ByteBuffer, handed: UInt64, now: Moment)
    /// Notes that TLS took the written bytes up to `offset` of the stream below it.
    mutating func flushed(_ id: ConnectionID, at offset: UInt64, now: Moment)
    mutating func writability(_ id: ConnectionID, isWritable: Bool)
    mutating func sampled(_ id: ConnectionID, _ sample: TransportSample, now: Moment)
    mutating func ended(_ id: ConnectionID, _ end: ConnectionEnd, handed: UInt64, now: Moment)
    /// Sends the remaining notifications, and then finishes every connection.
    mutating func shutDown(proof: Proof, now: Moment)
    /// Gives every notification without an outcome one now, and closes every connection.
    ///
    /// - Parameter handed: for each connection, the number of bytes of the stream below TLS that the system took.
    mutating func abandon(
        undelivered: Outcome.UndeliveredCause,
        uncertain: Outcome.UncertainCause,
        handed: (ConnectionID) -> UInt64,
        now: Moment
    )
}

/// The defaults for protocols that do not need these members.
extension ProviderMachine where Self: ~Copyable {
    package var delayedCount: Int { 0 }

    package func judged(at now: NIODeadline) -> [ConnectionID] { [] }

    package mutating func takeSidedEvents() -> [SidedEvent] {
        self.takeEvents().map { SidedEvent($0, side: nil) }
    }

    package mutating func countPings() {}

    package mutating func takePings() -> ProviderActivity.Pings { ProviderActivity.Pings() }

    package mutating func measureTimes() {}

    package mutating func takeTimes(until now: NIODeadline) -> ProviderActivity.Times { [:] }

    package mutating func failed(_ error: ProviderError, now: Moment) { self.outcomes.failed(error) }

    package var bottleneck: ConnectionID? { nil }

    package var needsAuthorization: Bool { false }

    package mutating func authorized(_ authorization: Authorization) {}

    package mutating func writability(_ id: ConnectionID, isWritable: Bool) {}

    package mutating func sampled(_ id: ConnectionID, _ sample: TransportSample, now: Moment) {}
}

/// An event and its protocol. The protocol is nil if the provider has only one, or if the event concerns both.
package struct SidedEvent {
    package var event: ProviderEvent
    package var side: ProviderSide?

    package init(_ event: ProviderEvent, side: ProviderSide?) {
        self.event = event
        self.side = side
    }
}
