internal import FerryBinary
internal import FerryCore
internal import NIOCore

/// The gateway's end of one connection of an old client, without I/O.
///
/// The connection reads notifications, and keeps their results in a ``Ledger``. It tells the client at most one
/// rejection, if that is safe, and defers the other rejections; see ``Effect/deferRejection(of:)``.
///
/// ```
///   ┌─────────┐ rejection   ┌─────────┐  calm   ┌─────────────┐
///   │ reading │────────────▶│ calming │────────▶│ journalling │
///   └─────────┘◀────────────└─────────┘◀────────└─────────────┘
///    │ │  ▲ │   too late       │   durable, not calm  │  │
///    │ │  │ └─ shutdown: quiet ┼─────────────────────▶│  │
///    │ │  └─ too late, 1 s ────┼──────────────────────┘  │
///    │ │ shutdown:             │ durable already,        │ durable,
///    │ │ plain close           ▼ calm                    ▼ calm
///    │ │                  ┌──────────────────────────────────┐
///    │ └─────────────────▶│ draining: the output ends        │
///    │ violation          └──────────────────────────────────┘
///    │                       │ quiet, or 5 s   │ shutdown: quiet, or 5 s
///    ▼                       ▼                 │
///   ┌──────────┐           ┌──────┐            │
///   │ ignoring │           │ deaf │            │
///   └──────────┘           └──────┘            │
///        │ 5 s               │ 30 s without    │
///        ▼                   ▼ a byte          ▼
///   ┌────────────────────────────────────────────┐   the end of input or a reset
///   │                   closed                   │◀── in every state
///   └────────────────────────────────────────────┘
/// ```
///
/// While the connection drains, and while it is deaf, it reads and admits notifications as before, so no notification
/// is lost. In the turn that tells a rejection, the client must still be calm; see ``calmAt(_:_:)``.
///
/// The owner asks the scope's ``ReplayFilter`` for the client's standing, calls ``timePassed(now:standing:effects:)``
/// at ``nextDeadline(standing:)``, reads only while ``isReading``, and does each action before its next call.
struct GatewayConnection: ~Copyable, Sendable {
    /// The next action of the owner.
    enum Action: Hashable, Sendable {
        case none
        /// Write to the journal that this episode begins, and then call ``durable(_:now:standing:effects:)``. The
        /// connection may give up the error response before that call.
        case journal(EpisodeID)
        /// In this turn open the episode in the replay filter, and write the response. Continue to read.
        case tell(Telling)
        /// Close the output: close_notify, then the end of the stream. Continue to read.
        case closeOutput
        /// Tell the replay filter that this episode is drained.
        case drained(EpisodeID)
        /// Close the connection in both directions, and tell the replay filter that the episode, if any, is drained.
        /// Running jobs continue. A later rejection of one of them must be deferred.
        case close(EpisodeID?)
    }

    /// A notification that was read, before its admission.
    struct Offer: Sendable {
        var frame: NotificationFrame
        var sequence: UInt64
        var origin: ReplayFilter.Origin
    }

    /// The owner's admission of a notification.
    struct Admitted: Sendable {
        /// The notification, with its own job or the job that it joins, and with the fate of that job.
        var follower: Follower
        var kind: Kind
        /// Whether the notification was given to the journal, if there is a journal.
        var isJournalled: Bool

        enum Kind: Hashable, Sendable {
            case new
            /// The notification is a copy and is not forwarded.
            case copy
            /// The notification is a copy. Its client repeats it until the client sees the end of the connection.
            case circling
        }

        init(_ follower: Follower, _ kind: Kind, isJournalled: Bool = false) {
            self.follower = follower
            self.kind = kind
            self.isJournalled = isJournalled
        }
    }

    /// The state of the spool. If the spool is open, a notification without a result is released to it after
    /// ``GatewayBounds/release``, and then counts as accepted.
    enum Spool: Hashable, Sendable {
        /// The spool has room, so notifications are released.
        case open
        /// The spool has room, but its store does not answer, or refuses commits. Nothing is released, and the
        /// gateway reads on as far as the memory of the connection allows. For a client, this wait is less harmful
        /// than a stop of the reading or the end of its connection.
        case waiting
        /// The spool is full, another process has the store, or the store has stored nothing for
        /// ``GatewayBounds/Journal/outage``. Nothing is released, so the window fills, the reading stops, and the
        /// connection ends.
        case full
    }

    /// The event after the only notification of a connection. It shows whether the client opens a connection for each
    /// notification.
    enum Single: Hashable, Sendable {
        case unknown
        /// The client ended the connection within ``GatewayBounds/single`` after its only notification.
        case ended
        /// The connection stayed open for ``GatewayBounds/single`` after its only notification.
        case kept
    }

    let id: ConnectionID
    var spool: Spool
    let openedAt: NIODeadline
    /// The round trip that the system measured; nil if it has measured none yet.
    private var transportRoundTrip: TimeAmount?
    private let handshakeRoundTrip: TimeAmount

    var state = State.reading
    var reader: NotificationReader
    var ledger = Ledger()
    var pace: Pace
    var stop: Stop?
    /// When the connection is closed at the latest; nil until ``shutDown(by:handsOver:now:standing:effects:)``.
    private(set) var endsAt: NIODeadline?
    /// When the window became full; nil while the connection reads.
    var stoppedAt: NIODeadline?
    var resumedAt = NIODeadline.distantPast
    /// Nil before an error response. `sequence` is the notification that the error response names. `end` is the
    /// sequence number after its last follower. While `end` is nil, each further notification becomes a follower.
    var told: (sequence: UInt64, end: UInt64?)?
    private var crashMisses = 0
    /// When the connection stops waiting to tell the rejection directly before invalid bytes. The invalid bytes then
    /// end the connection without an error response, unless the response already waits for the journal. It is nil if
    /// no invalid bytes came directly after a rejected notification. Rejection and invalid bytes often have one
    /// cause: the client wrote the length of a payload in characters instead of bytes. The error response tells the
    /// client more than a closed connection, so the error response goes first.
    private(set) var brokenEnd: NIODeadline?
    private(set) var single = Single.unknown

    /// The number of bytes that were received and not read as notifications: the bytes that were discarded after a
    /// violation or at a handover, and an incomplete notification at the end.
    var discardedBytes = 0

    /// - Parameters:
    ///   - id: a number that no other connection ever had.
    ///   - spool: the present state of the spool. The owner keeps it up to date.
    ///   - handshake: the round trip that the TLS handshake showed.
    init(
        _ id: ConnectionID,
        decoder: NotificationDecoder,
        spool: Spool,
        handshake: TimeAmount = .zero,
        now: NIODeadline
    ) {
        self.id = id
        self.spool = spool
        self.openedAt = now
        self.handshakeRoundTrip = handshake
        self.reader = NotificationReader(decoder)
        self.pace = Pace(now: now)
    }

    // MARK: Inputs

    /// Notes the round trip that the system measured.
    mutating func sampled(roundTrip: TimeAmount) { self.transportRoundTrip = max(roundTrip, .zero) }

    /// The longer of two round trips: that of the TCP connection, and that of the TLS handshake. Before the system
    /// has measured the first, ``GatewayBounds/unknownRoundTrip`` stands for it. If a load balancer ends the TCP
    /// connection, the system measures only the round trip to the balancer.
    var roundTrip: TimeAmount {
        max(self.transportRoundTrip ?? GatewayBounds.unknownRoundTrip, self.handshakeRoundTrip)
    }

    /// Takes bytes from the client. One read may exceed the window.
    ///
    /// - Parameter admit: gets each whole notification, and the bytes that its ranges refer to. The bytes are valid
    ///   during the call.
    mutating func received(
        _ bytes: consuming ByteBuffer,
        now: NIODeadline,
        standing: ReplayFilter.Standing,
        effects: inout [Effect],
        admit: (Offer, Span<UInt8>, inout [Effect]) -> Admitted
    ) -> Action {
        guard self.state.isAdopting, self.brokenEnd == nil else {
            self.discardedBytes += bytes.readableBytes
            // A client that still writes is not calm.
            if self.brokenEnd != nil { self.pace.heard(1, now: now) }
            return .none
        }
        var reader = NotificationReader(NotificationDecoder())
        swap(&reader, &self.reader)
        var count = 0
        var violation: NotificationViolation?
        reader.read(bytes) { item, span in
            count += 1
            switch item {
            case .notification(let frame):
                let offer = Offer(frame: frame, sequence: self.ledger.next, origin: self.origin(of: frame, now: now))
                let admitted = admit(offer, span, &effects)
                self.append(frame, admitted, now: now, &effects)
            case .refused(let refusal):
                self.append(refusal, now: now, &effects)
            case .violation(let found):
                violation = found
            }
            return .goOn
        }
        self.reader = reader
        self.pace.heard(count, now: now)
        guard let violation else { return self.proceed(now: now, standing: standing, &effects) }
        effects.append(.report(violation))
        guard self.state.mayTell, self.ledger.endsWithRejection else { return self.violated(now: now, &effects) }
        self.brokenEnd = now + GatewayBounds.age
        return self.proceed(now: now, standing: standing, &effects)
    }

    /// Notes the result of a notification: the result of its job. A swallowed copy has the job that it joined.
    mutating func settled(
        _ sequence: UInt64,
        _ job: JobID,
        _ fate: JobFate,
        now: NIODeadline,
        standing: ReplayFilter.Standing,
        effects: inout [Effect]
    ) -> Action {
        let isTimely = self.ledger.settle(sequence, fate, now: now)
        if case .rejected = fate, !isTimely || !self.state.mayTell, !self.isFollower(sequence) {
            effects.append(.deferRejection(of: job))
        }
        return self.proceed(now: now, standing: standing, &effects)
    }

    /// Counts a notification as accepted before its answer, because the spool has it.
    mutating func release(
        _ sequence: UInt64,
        now: NIODeadline,
        standing: ReplayFilter.Standing,
        effects: inout [Effect]
    ) -> Action {
        _ = self.ledger.release(sequence, now: now)
        return self.proceed(now: now, standing: standing, &effects)
    }

    /// Notes that the journal has the beginning of the episode.
    mutating func durable(
        _ episode: EpisodeID,
        now: NIODeadline,
        standing: ReplayFilter.Standing,
        effects: inout [Effect]
    ) -> Action {
        guard case .journalling(var candidate, _) = self.state, candidate.episode == episode else { return .none }
        candidate.isDurable = true
        self.state = .calming(candidate)
        return self.proceed(now: now, standing: standing, &effects)
    }

    /// Notes the end of input or a reset. Before a reset, the owner passes on the bytes that the system still has.
    mutating func inputEnded(now: NIODeadline, effects: inout [Effect]) -> Action {
        if case .closed = self.state { return .none }
        if self.isSingle, now < self.pace.heardAt + GatewayBounds.single { self.single = .ended }
        return self.close(&effects)
    }

    /// Carries out due work. A call that is early or repeated does no harm.
    mutating func timePassed(
        now: NIODeadline,
        standing: ReplayFilter.Standing,
        effects: inout [Effect]
    ) -> Action {
        self.proceed(now: now, standing: standing, &effects)
    }

    /// Ends the connection, with status 10 where that is safe.
    ///
    /// - Parameters:
    ///   - end: when the connection is closed at the latest.
    ///   - handsOver: see ``Stop/handsOver``.
    mutating func shutDown(
        by end: NIODeadline,
        handsOver: Bool = false,
        now: NIODeadline,
        standing: ReplayFilter.Standing,
        effects: inout [Effect]
    ) -> Action {
        if let endsAt, endsAt < end { self.resume(now: now) }
        self.endsAt = end
        self.stop = self.stop ?? Stop(since: now, isUrgent: false)
        self.stop?.handsOver = handsOver
        return self.proceed(now: now, standing: standing, &effects)
    }

    // MARK: State

    /// Whether the owner may read. A full window stops the reading for at most 8 s.
    var isReading: Bool {
        switch self.state {
        case .closed: false
        case .ignoring: true
        case .reading, .calming, .journalling, .draining, .deaf:
            self.spool == .waiting ? self.ledger.hasMemory : self.ledger.hasRoom
        }
    }

    /// Whether two notifications of this connection had different identifiers.
    var numbersPushes: Bool { self.ledger.hasSeveralIdentifiers }

    /// Whether two notifications of this connection certainly had the same identifier. Copies on the connection that
    /// was told do not count.
    var repeatsIdentifiers: Bool { self.ledger.repeatsIdentifiers }

    /// Whether exactly one notification was read, and an error response may still be written.
    var isSingle: Bool { self.ledger.next == 1 && self.state.mayTell }

    /// Notes whether the connection has stayed open for ``GatewayBounds/single`` after its only notification.
    mutating func noteSingle(now: NIODeadline) {
        guard self.single == .unknown, self.isSingle else { return }
        if self.pace.heardAt + GatewayBounds.single <= now { self.single = .kept }
    }

    /// The episode that begins when the waiting last word is written; nil if no last word waits.
    var waitingEpisode: EpisodeID? {
        switch self.state {
        case .calming(let candidate), .journalling(let candidate, _): candidate.episode
        case .reading, .draining, .deaf, .ignoring, .closed: nil
        }
    }

    /// Whether the rejection of the connection's only notification waits until it may be told.
    var waitsAlone: Bool {
        guard case .calming(let candidate) = self.state, case .rejection = candidate.word else { return false }
        return self.ledger.next == 1
    }

    /// The job of a notification; nil if it has no job, or the ledger does not keep it.
    func job(of sequence: UInt64) -> JobID? { self.ledger.job(of: sequence) }

    /// Whether this connection tells or defers a rejection of this notification. If not, the notification is a
    /// follower, and the replay filter keeps its rejection for a copy.
    func answers(for sequence: UInt64) -> Bool { !self.isFollower(sequence) }

    // MARK: Reading

    private func origin(of frame: NotificationFrame, now: NIODeadline) -> ReplayFilter.Origin {
        ReplayFilter.Origin(
            connection: self.id,
            draining: self.openEpisode,
            mayHaveHeard: self.state.drain.map { $0.startedAt + self.roundTrip <= now } ?? true,
            isOpening: self.state.mayTell && self.crashMisses < GatewayBounds.crashMisses,
            openedAt: self.openedAt,
            resemblesPushy: frame.beginsWithIdentifier
        )
    }

    /// The episode in which the next notifications of this connection become followers; nil without one.
    private var openEpisode: EpisodeID? {
        guard let told = self.told, told.end == nil else { return nil }
        return EpisodeID(connection: self.id, sequence: told.sequence)
    }

    private mutating func append(
        _ frame: NotificationFrame,
        _ admitted: Admitted,
        now: NIODeadline,
        _ effects: inout [Effect]
    ) {
        switch admitted.kind {
        case .new: self.crashMisses += 1
        case .copy: break
        case .circling: self.endOutput()
        }
        let sequence = self.ledger.append(
            Ledger.Frame(
                identifier: frame.identifier,
                follower: admitted.follower,
                length: frame.length
            ),
            // Some clients send again on the connection that was told, under the old identifiers.
            isCopy: !self.state.mayTell && admitted.kind != .new,
            now: now
        )
        self.deferIfUntellable(sequence, admitted.follower.fate, admitted.follower.job, &effects)
    }

    private mutating func append(_ refusal: NotificationRefusal, now: NIODeadline, _ effects: inout [Effect]) {
        effects.append(.refuse(refusal, mayHear: false))
        let sequence = self.ledger.append(
            Ledger.Frame(
                identifier: refusal.identifier,
                refusedWith: refusal.status,
                isProbe: refusal.fault == .missingToken,
                length: refusal.length
            ),
            now: now
        )
        self.deferIfUntellable(sequence, .rejected(refusal.status), nil, &effects)
    }

    private func deferIfUntellable(_ sequence: UInt64, _ fate: JobFate, _ job: JobID?, _ effects: inout [Effect]) {
        guard case .rejected = fate, !self.state.mayTell, !self.isFollower(sequence) else { return }
        effects.append(.deferRejection(of: job))
    }

    /// Whether the notification is a follower of the one that this connection's error response named.
    func isFollower(_ sequence: UInt64) -> Bool {
        guard let told = self.told else { return false }
        return sequence > told.sequence && sequence < told.end ?? .max
    }
}
