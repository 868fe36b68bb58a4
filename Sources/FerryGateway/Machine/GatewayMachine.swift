internal import FerryBinary
internal import FerryCore
internal import FerryMachine
internal import DequeModule
internal import HeapModule
internal import NIOCore

/// The gateway without I/O: all connections of all clients, their replay filters, and the way to APNs.
///
/// ```
///   bytes ──▶ GatewayScope ──▶ Dispatch ──▶ upstream
///                  ▲  │            │
///                  │  └─ effects ─▶ Journal ──▶ store
///                  └─── result ────┘
/// ```
///
/// The owner passes in bytes, outcomes and time. After each input, the owner carries out the actions of
/// ``takeActions()`` in order. It passes the batches of ``withBatches(for:_:)`` to the upstreams and
/// ``takeCommits(now:)`` to the store, and calls ``timePassed(now:)`` at ``nextDeadline``.
///
/// With a ``Journal``, a notification goes to the upstream only after its record is durable. An error response waits
/// for its record, too. If the record is not durable after ``GatewayBounds/journal``, status 10 is written without the
/// record, and any other error response is given up.
///
/// The class is not `Sendable`, because one event loop owns it.
final class GatewayMachine {
    /// The work of the owner on one connection.
    struct Action: Hashable, Sendable {
        var connection: ConnectionID
        var work: Work

        enum Work: Hashable, Sendable {
            /// Write these six bytes. Continue to read.
            case tell(ErrorResponse)
            /// Close the output. Continue to read.
            case closeOutput
            /// Close the connection. No more inputs come from it.
            case close
            /// Read, or stop reading.
            case read(Bool)
        }
    }

    var scopes: Scopes
    /// The scope of each connection.
    var places: [ConnectionID: Scopes.Place] = [:]
    var dispatch: Dispatch
    /// The journal; nil without a store. Everything then counts as durable at once.
    var journal: Journal?
    /// The list of rejections; nil if it has no file.
    var list: RejectionList?
    /// The form of the lines in a shared store; nil if the store is not shared.
    var sharedLine: RejectionLine?
    /// The table of the letters; unused without a store.
    var letters = LetterShelf()
    /// The work that waits until a segment is durable, in the order of the segments: `unsent` has notifications to
    /// send, `unopened` has error responses to write, and `unsettled` has answers to pass on.
    var unsent: Deque<(segment: UInt64, job: JobID)> = []
    var unopened: Deque<(segment: UInt64, episode: EpisodeID)> = []
    var unsettled: Deque<(segment: UInt64, job: JobID, scope: ReplayScope, settled: Dispatch.Settled)> = []
    let makeKey:
        (_ topic: [UInt8], _ token: UnsafeBufferPointer<UInt8>, _ payload: UnsafeBufferPointer<UInt8>) ->
            ReplayKey
    var lastConnection: UInt64
    /// The traffic of each client.
    var traffic: [ClientTraffic]
    /// The effects of the present turn. The list is kept, so that a turn allocates no memory for it.
    var effects: [Effect] = []
    /// The notifications of this turn that wait at a shut gate. Empty with a store: a notification then comes to the
    /// gate only in a later turn, after its record is durable.
    var heldBack: [Job.Reader] = []
    /// Whether a connection ended in this turn.
    var hasClosed = false
    var actions: [Action] = []
    /// When the remaining connections are closed; nil until the shutdown begins.
    var endsAt: NIODeadline?
    /// The number of lost notifications when the machine stopped sending.
    var lostBefore = 0
    var lastSpool = GatewayConnection.Spool.open
    /// Whether other processes share the store.
    let isShared: Bool
    /// Whether error responses may be written. The owner sets it before each input.
    var mayTell = true
    /// `seenLate` has the late segments that this process has seen; the value is true if it took the segment over.
    /// `takenOver` has the notifications of earlier owners. Late segments may bring both a second time.
    var seenLate: [UInt64: Bool] = [:]
    var takenOver: Set<JobID> = []
    /// The notifications that went from owner to owner in late segments.
    var late = GatewayFigures.Late()
    /// The number of episodes from late segments.
    var lateEpisodes: UInt64 = 0
    /// The handing over of a shared store to the process that has taken it; nil before the handing over begins.
    var handover: Handover?
    /// When the store was copied from another store, in UNIX seconds; nil if the store is no copy, or if this is not
    /// the first start with the copy.
    private(set) var copiedAt: UInt32?

    /// - Parameters:
    ///   - journal: the journal; nil without a store.
    ///   - list: the list of rejections; nil if it has no file.
    ///   - firstConnection: the number of the first connection. No connection with this store has had this number.
    ///   - makeKey: a keyed hash with a secret key.
    ///   - isShared: whether other processes share the store.
    init(
        _ dispatch: consuming Dispatch,
        journal: Journal? = nil,
        isShared: Bool = false,
        list: RejectionList? = nil,
        firstConnection: UInt64 = 1,
        makeKey: @escaping ([UInt8], UnsafeBufferPointer<UInt8>, UnsafeBufferPointer<UInt8>) -> ReplayKey
    ) {
        self.traffic = Array(repeating: ClientTraffic(), count: dispatch.identities.count)
        self.dispatch = dispatch
        self.scopes = Scopes(isStored: journal != nil)
        self.journal = journal
        self.isShared = isShared
        if isShared {
            self.sharedLine = RejectionLine(identities: self.dispatch.identities)
            self.dispatch.verdicts.feedback = FeedbackRows(in: .sharedStore)
        }
        self.list = list
        self.lastConnection = firstConnection - 1
        self.makeKey = makeKey
    }

    // MARK: State

    var counts: FateCounts {
        var counts = self.dispatch.verdicts.counts
        counts.unwritten = self.list?.count ?? 0
        return counts
    }
    var connectionCount: Int { self.places.count }
    /// The number of notifications without a final answer.
    var jobCount: Int { self.dispatch.jobs.count }

    /// Whether a new connection of this identity is accepted.
    func isOpen(identity: Int, now: Moment) -> Bool { self.closedReason(of: identity, now: now) == nil }

    /// Whether new connections are accepted, apart from the reasons that concern a single client.
    func isOpen(now: Moment) -> Bool { self.closedReason(now: now) == nil }

    /// The reason why no new connection of this identity is accepted; nil if connections are accepted.
    func closedReason(of identity: Int, now: Moment) -> ClosedReason? {
        self.closedReason(now: now) ?? self.dispatch.closedReason(of: identity)
    }

    /// The reason why no client gets a new connection; nil if at most reasons of a single client remain.
    ///
    /// The store is checked first: while it stores nothing, nothing goes out, and notifications fill the room.
    func closedReason(now: Moment) -> ClosedReason? {
        if let journal = self.journal {
            guard !self.isStoreTaken else { return .storeTaken }
            guard journal.spool(now: now.monotonic) == .open else { return .storeTrouble }
        }
        return self.dispatch.jobs.hasRoom ? nil : .noRoom
    }

    /// Whether another process has the store.
    var isStoreTaken: Bool { self.handover != nil || self.journal?.isFenced ?? false }

    func spool(for identity: Int, now: Moment) -> GatewayConnection.Spool {
        guard self.dispatch.jobs.hasRoom(for: identity) else { return .full }
        return self.journal?.spool(now: now.monotonic) ?? .open
    }

    /// The last segment with notifications that were read so far; nil without a store. Call ``sealJournal(now:)``
    /// first.
    var lastSegment: UInt64? { self.journal.map { $0.number - 1 } }

    /// Whether the store has this segment. If another process has taken a store that is not shared, no segment can be
    /// stored any more, and the result is true.
    func isStored(through segment: UInt64) -> Bool {
        self.journal.map { $0.durable >= segment || $0.isFenced } ?? true
    }

    /// Whether every notification that was read is settled, and the store has everything.
    var isIdle: Bool {
        self.dispatch.jobs.count == 0 && self.unsettled.isEmpty && self.journal?.isIdle ?? true
    }

    func takeEvents() -> [GatewayEvent] {
        self.dispatch.verdicts.takeEvents() + (self.journal?.takeEvents() ?? []) + (self.list?.takeEvents() ?? [])
    }

    /// Removes and returns the events that the list of rejections has not seen. ``takeEvents()`` removes them, too.
    func takeUnlisted() -> [ListedEvent] { self.dispatch.verdicts.takeUnlisted() }

    /// Counts lines of the list of rejections that were given up.
    func countUnlisted(_ count: Int) { self.dispatch.verdicts.countUnlisted(count) }

    func takeActions() -> [Action] {
        defer { self.actions = [] }
        return self.actions
    }

    /// Takes the rows that mark the store as a copy. The first commit removes them.
    ///
    /// - Parameter last: the number of the last commit in the store.
    func restoreCopy(_ rows: [StoreRow], last: UInt64, now: Moment) {
        for row in rows { self.journal?.forget(row, in: .copy, now: now) }
        self.copiedAt = rows.lazy.compactMap { CopyRow.time($0, last: last) }.first
    }

    // MARK: Feedback

    /// Calls `body` with the feedback lists of all clients. The changed rows go to the journal.
    func withFeedback(now: Moment, _ body: (inout FeedbackRows) -> Void) {
        body(&self.dispatch.verdicts.feedback)
        self.collectRows(now: now)
    }

    func collectRows(now: Moment) {
        guard self.journal != nil else { return }
        for change in self.dispatch.verdicts.feedback.takeChanges() {
            self.journal?.change(change, now: now)
        }
    }

    // MARK: Clients

    /// Adds a connection whose client is known.
    ///
    /// - Parameters:
    ///   - address: the source address: four or sixteen bytes.
    ///   - handshake: the round trip that the TLS handshake showed.
    func connected(
        identity: Int,
        address: [UInt8],
        handshake: TimeAmount = .zero,
        now: Moment
    ) -> ConnectionID {
        self.lastConnection += 1
        let id = ConnectionID(self.lastConnection)
        let connection = GatewayConnection(
            id,
            decoder: NotificationDecoder(maximumPayloadLength: PushNotification.maximumPayloadLength),
            spool: .open,
            handshake: handshake,
            now: now.monotonic
        )
        let place = self.place(of: ReplayScope(identity: identity, address: address))
        self.scopes.opened(connection, at: place)
        self.places[id] = place
        self.traffic[identity].connections += 1
        // The connection was accepted before the shutdown began, but its handshake has ended only now.
        if let endsAt { self.turn(of: place, now: now) { $0.shutDown(id, by: endsAt, $1, &$2) } }
        return id
    }

    func sampled(_ id: ConnectionID, roundTrip: TimeAmount) {
        guard let place = self.places[id] else { return }
        self.scopes.sampled(id, at: place, roundTrip: roundTrip)
    }

    func received(_ id: ConnectionID, _ bytes: ByteBuffer, now: Moment) {
        guard let place = self.places[id] else { return }
        self.turn(of: place, now: now) { scope, around, effects in
            let key = scope.key
            self.traffic[key.identity].heardAt = now.epochSeconds
            scope.received(id, bytes, around, &effects) { offer, span, filter, effects in
                span.withUnsafeBufferPointer { self.admit(offer, $0, key, &filter, &effects, now: now) }
            }
            self.carryOut(&effects, of: key, now: now)
            self.releaseHeldBack(&scope, &effects, now: now)
        }
    }

    /// Notes the end of input or a reset.
    func inputEnded(_ id: ConnectionID, now: Moment) {
        guard let place = self.places[id] else { return }
        self.turn(of: place, now: now) { $0.inputEnded(id, $1, &$2) }
        self.goOnHandingOver(now: now)
    }

    /// Ends all connections, and those that open later, with status 10 where that is safe.
    func shutDown(now: Moment) {
        let end = self.endsAt ?? now.monotonic + GatewayBounds.ending
        self.endsAt = end
        for (id, place) in self.places.sorted(by: { $0.key.rawValue < $1.key.rawValue }) where self.places[id] != nil {
            self.turn(of: place, now: now) { $0.shutDown(id, by: end, $1, &$2) }
        }
    }

    /// Sets ``endsAt`` anew if it passed ``GatewayBounds/stopped`` ago or earlier, because the process was stopped.
    /// Without the new time, a close would destroy bytes that clients wrote meanwhile and the system still has. The
    /// owner calls this function before each input.
    func putEndOff(now: Moment) {
        guard let endsAt, endsAt + GatewayBounds.stopped <= now.monotonic, self.connectionCount > 0 else { return }
        self.endsAt = nil
        self.shutDown(now: now)
    }

    /// Ends the work for all clients, because another process has taken the store. That process sends the notifications
    /// in the store. Notifications that are neither in the store nor at an upstream are given up.
    func storeTaken(now: Moment) {
        guard !self.isStoreTaken, self.journal != nil else { return }
        self.journal?.fence()
        // No error response can be written, because no record of it would be durable. Bytes that clients write from now
        // on would be lost, so the connections are closed at once.
        self.endsAt = now.monotonic
        self.shutDown(now: now)
        self.abandon()
    }

    /// Gives up the notifications that have no final answer, and are neither in the store nor at an upstream. Each is
    /// reported as a dead letter.
    func abandon() {
        if !self.dispatch.isAbandoned { self.lostBefore = self.lost }
        self.dispatch.abandon(durable: self.journal?.durable)
    }

    /// Gives up the notifications without a final answer, after the end of the upstreams. With a store, none is given
    /// up, because the next process sends them.
    ///
    /// - Returns: whether no notification was lost since the first call of ``abandon()`` or ``handOver(now:)``.
    func giveUpUnanswered() -> Bool {
        if self.journal == nil { self.dispatch.giveUpUnanswered() }
        return self.lost == self.lostBefore
    }

    /// The number of notifications that the gateway has given up, including those that may have arrived.
    var lost: Int { self.dispatch.verdicts.counts.deadLetters + self.dispatch.verdicts.counts.unknown }
}
