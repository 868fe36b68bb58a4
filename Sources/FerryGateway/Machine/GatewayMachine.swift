package import FerryBinary
package import FerryCore
package import FerryMachine
internal import DequeModule
internal import HeapModule
package import NIOCore

/// The gateway without I/O: all connections of all clients, their replay filters, and the way to APNs.
///
/// ```
///   bytes ──▶ GatewayConnection ──▶ ReplayFilter ──▶ Dispatch ──▶ upstream
///                    ▲                   ▲               │
///                    └──── error ────────┴──── result ───┘
/// ```
///
/// Its owner passes bytes, outcomes and time in. After each input it does the actions of ``takeActions()``, in order, hands
/// the batches of ``withBatches(for:_:)`` to the upstreams and ``takeCommits(now:)`` to the store, and calls
/// ``timePassed(now:)`` at ``nextDeadline``.
///
/// With a ``Journal``, a notification goes to the upstream, and an error response to its client, when the store has them.
///
/// Not `Sendable`: one event loop owns it.
package final class GatewayMachine {
    /// The work of the owner on one connection.
    package struct Action: Hashable, Sendable {
        package var connection: ConnectionID
        package var work: Work

        package enum Work: Hashable, Sendable {
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

    var filters = ReplayFilters()
    var filterTimers: [ReplayScope: NIODeadline] = [:]
    var clients: [ConnectionID: GatewayClient] = [:]
    var dispatch: Dispatch
    /// Nil: everything counts as durable at once.
    var journal: Journal?
    /// Nil: the list of rejections has no file.
    var list: RejectionList?
    /// The work that waits until a segment is durable, each in the order of the segments.
    var unsent: Deque<(segment: UInt64, job: JobID)> = []
    var unopened: Deque<(segment: UInt64, episode: EpisodeID)> = []
    var unsettled: Deque<(segment: UInt64, job: JobID, scope: ReplayScope, settled: Dispatch.Settled)> = []
    let makeKey:
        (_ topic: [UInt8], _ token: UnsafeBufferPointer<UInt8>, _ payload: UnsafeBufferPointer<UInt8>) ->
            ReplayKey
    private var lastConnection: UInt64
    var timers = Heap<Timer>()
    var touched: [GatewayClient] = []
    /// The notifications of this turn that wait at a shut gate.
    var heldBack: [Job.Reader] = []
    /// The connections whose only notification was rejected, of clients of which no trait is known.
    var undecided: [ReplayScope: Set<ConnectionID>] = [:]
    /// The scopes of the connections that ended in this turn.
    var left: [ReplayScope] = []
    var actions: [Action] = []
    /// The jobs that error responses have named, until their episodes end.
    var named: [EpisodeID: JobID] = [:]
    private var isShuttingDown = false
    /// The number of lost notifications when the machine was abandoned.
    private var lostBefore = 0
    var lastSpool = GatewayConnection.Spool.open

    /// - Parameters:
    ///   - journal: nil: without a store.
    ///   - list: nil: the list of rejections has no file.
    ///   - firstConnection: the number of the first connection. With this store, no connection ever had it.
    ///   - makeKey: a keyed hash with a secret key.
    package init(
        _ dispatch: consuming Dispatch,
        journal: Journal? = nil,
        list: RejectionList? = nil,
        firstConnection: UInt64 = 1,
        makeKey: @escaping ([UInt8], UnsafeBufferPointer<UInt8>, UnsafeBufferPointer<UInt8>) -> ReplayKey
    ) {
        self.dispatch = dispatch
        self.journal = journal
        self.list = list
        self.lastConnection = firstConnection - 1
        self.makeKey = makeKey
    }

    // MARK: What is here

    package var counts: GatewayCounts {
        var counts = self.dispatch.verdicts.counts
        counts.unwritten = self.list?.count ?? 0
        return counts
    }
    package var connectionCount: Int { self.clients.count }
    /// The notifications without a last answer.
    package var jobCount: Int { self.dispatch.jobs.count }

    /// Whether a new connection of this identity is welcome.
    package func isOpen(identity: Int, now: Moment) -> Bool {
        self.isOpen(now: now) && self.dispatch.isOpen(identity: identity)
    }

    /// Whether any new connection is welcome.
    package func isOpen(now: Moment) -> Bool {
        !self.isShuttingDown && self.dispatch.jobs.hasRoom && self.journal?.spool(now: now.monotonic) ?? .open == .open
    }

    func spool(for identity: Int, now: Moment) -> GatewayConnection.Spool {
        guard self.dispatch.jobs.hasRoom(for: identity) else { return .full }
        return self.journal?.spool(now: now.monotonic) ?? .open
    }

    /// Whether every notification that was read is settled, and the store has everything.
    package var isIdle: Bool {
        self.dispatch.jobs.count == 0 && self.unsettled.isEmpty && self.journal?.isIdle ?? true
    }

    package func takeEvents() -> [GatewayEvent] {
        self.dispatch.verdicts.takeEvents() + (self.journal?.takeEvents() ?? []) + (self.list?.takeEvents() ?? [])
    }

    /// Returns the events that the list of rejections has not seen. ``takeEvents()`` removes them.
    func takeUnlisted() -> ArraySlice<GatewayEvent> { self.dispatch.verdicts.takeUnlisted() }

    /// Counts lines of the list of rejections that were given up.
    func countUnlisted(_ count: Int) { self.dispatch.verdicts.counts.unlisted += count }

    package func takeActions() -> [Action] {
        defer { self.actions = [] }
        return self.actions
    }

    // MARK: Feedback

    /// Calls `body` with the feedback lists of all clients.
    package func withFeedback(now: Moment, _ body: (inout FeedbackRows) -> Void) {
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

    /// Notes a connection whose client is known.
    ///
    /// - Parameters:
    ///   - address: the source address: four or sixteen bytes.
    ///   - handshake: the round trip that the TLS handshake showed.
    package func connected(
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
        let scope = ReplayScope(identity: identity, address: address)
        self.clients[id] = GatewayClient(connection, identity: identity, scope: scope)
        self.filters.opened(scope)
        return id
    }

    package func sampled(_ id: ConnectionID, roundTrip: TimeAmount) {
        self.clients[id]?.connection.sampled(roundTrip: roundTrip)
    }

    package func received(_ id: ConnectionID, _ bytes: ByteBuffer, now: Moment) {
        guard let client = self.clients[id] else { return }
        self.withFilter(client.scope, now: now) { filter in
            client.connection.spool = self.spool(for: client.identity, now: now)
            let standing = filter.standing(now: now.monotonic)
            let action = client.connection.received(bytes, now: now.monotonic, standing: standing) { offer, span in
                span.withUnsafeBufferPointer { self.admit(offer, $0, client, &filter, now: now) }
            }
            if let violation = client.connection.takeViolation() {
                self.dispatch.verdicts.events.append(.violation(identity: client.identity, violation))
            }
            self.perform(action, client, &filter, now: now)
            self.releaseHeldBack(client, &filter, now: now)
        }
    }

    /// Notes the end of input, or a reset.
    package func inputEnded(_ id: ConnectionID, now: Moment) {
        guard let client = self.clients[id] else { return }
        self.withFilter(client.scope, now: now) { filter in
            client.connection.spool = self.spool(for: client.identity, now: now)
            self.perform(client.connection.inputEnded(now: now.monotonic), client, &filter, now: now)
        }
    }

    /// Ends all connections: with status 10 where that is safe.
    package func shutDown(now: Moment) {
        self.isShuttingDown = true
        for client in self.clients.values.sorted(by: { $0.connection.id.rawValue < $1.connection.id.rawValue }) {
            self.withFilter(client.scope, now: now) { filter in
                client.connection.spool = self.spool(for: client.identity, now: now)
                let standing = filter.standing(now: now.monotonic)
                let action = client.connection.shutDown(now: now.monotonic, standing: standing)
                self.perform(action, client, &filter, now: now)
            }
        }
    }

    /// Gives up what has no last answer, but for what an upstream has. It comes as events, and is lost. What the store has
    /// stays there.
    package func abandon() {
        self.lostBefore = self.lost
        self.dispatch.abandon(durable: self.journal?.durable)
    }

    /// Gives up what has no last answer after the end of the upstreams. With a store, it stays there.
    ///
    /// - Returns: whether nothing was lost since ``abandon()``, and all that an upstream had was answered.
    package func giveUpUnanswered() -> Bool {
        if self.journal == nil { self.dispatch.giveUpUnanswered() }
        return self.lost == self.lostBefore
    }

    /// The notifications that nobody sends again.
    private var lost: Int { self.dispatch.verdicts.counts.deadLetters + self.dispatch.verdicts.counts.unknown }
}
