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

    private struct Timer: Comparable {
        var at: NIODeadline
        var connection: ConnectionID

        static func < (left: Timer, right: Timer) -> Bool { left.at < right.at }
    }

    private var filters = ReplayFilters()
    private var filterTimers: [ReplayScope: NIODeadline] = [:]
    private var clients: [ConnectionID: GatewayClient] = [:]
    var dispatch: Dispatch
    /// Nil: everything counts as durable at once.
    var journal: Journal?
    /// Nil: the list of rejections has no file.
    var list: RejectionList?
    /// What waits until a segment is durable, each in the order of the segments.
    private var unsent: Deque<(segment: UInt64, job: JobID)> = []
    private var unopened: Deque<(segment: UInt64, episode: EpisodeID)> = []
    private var unsettled: Deque<(segment: UInt64, job: JobID, scope: ReplayScope, settled: Dispatch.Settled)> = []
    private let makeKey:
        (_ topic: [UInt8], _ token: UnsafeBufferPointer<UInt8>, _ payload: UnsafeBufferPointer<UInt8>) ->
            ReplayKey
    private var lastConnection: UInt64
    private var timers = Heap<Timer>()
    private var touched: [GatewayClient] = []
    /// The notifications of this turn that wait at a shut gate.
    private var heldBack: [Job.Reader] = []
    /// The scopes of the connections that ended in this turn.
    private var left: [ReplayScope] = []
    private var actions: [Action] = []
    /// The jobs that error responses have named, until their episodes end.
    private var named: [EpisodeID: JobID] = [:]
    private var isShuttingDown = false
    private var lastSpool = GatewayConnection.Spool.open

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
        var counts = self.dispatch.counts
        counts.unwritten = self.list?.count ?? 0
        return counts
    }
    package var connectionCount: Int { self.clients.count }
    /// The notifications without a last answer.
    package var jobCount: Int { self.dispatch.jobCount }

    /// Whether a new connection of this identity is welcome.
    package func isOpen(identity: Int, now: Moment) -> Bool {
        self.isOpen(now: now) && self.dispatch.isOpen(identity: identity)
    }

    /// Whether any new connection is welcome.
    package func isOpen(now: Moment) -> Bool {
        !self.isShuttingDown && self.dispatch.hasRoom && self.journal?.spool(now: now.monotonic) ?? .open == .open
    }

    private func spool(for identity: Int, now: Moment) -> GatewayConnection.Spool {
        guard self.dispatch.hasRoom(for: identity) else { return .full }
        return self.journal?.spool(now: now.monotonic) ?? .open
    }

    /// Whether every notification that was read is settled, and the store has everything.
    package var isIdle: Bool {
        self.dispatch.jobCount == 0 && self.unsettled.isEmpty && self.journal?.isIdle ?? true
    }

    package func takeEvents() -> [GatewayEvent] {
        self.dispatch.takeEvents() + (self.journal?.takeEvents() ?? []) + (self.list?.takeEvents() ?? [])
    }

    /// Returns the events that the list of rejections has not seen. ``takeEvents()`` removes them.
    func takeUnlisted() -> ArraySlice<GatewayEvent> { self.dispatch.takeUnlisted() }

    /// Counts lines of the list of rejections that were given up.
    func countUnlisted(_ count: Int) { self.dispatch.counts.unlisted += count }

    package func takeActions() -> [Action] {
        defer { self.actions = [] }
        return self.actions
    }

    // MARK: Feedback

    /// Calls `body` with the feedback lists of all clients.
    package func withFeedback(now: Moment, _ body: (inout FeedbackRows) -> Void) {
        body(&self.dispatch.feedback)
        self.collectRows(now: now)
    }

    private func collectRows(now: Moment) {
        guard self.journal != nil else { return }
        for change in self.dispatch.feedback.takeChanges() {
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
            self.perform(action, client, &filter, now: now)
            self.releaseHeldBack(client, &filter, now: now)
        }
    }

    /// Counts what waits at a shut gate as accepted: nobody knows for how long it waits, and its rejection would not be
    /// told. Otherwise a list that begins with bad tokens would be read no further, and never reach a good one.
    private func releaseHeldBack(_ client: GatewayClient, _ filter: inout ReplayFilter, now: Moment) {
        guard !self.heldBack.isEmpty else { return }
        let readers = self.heldBack
        self.heldBack = []
        for reader in readers {
            client.connection.spool = self.spool(for: client.identity, now: now)
            guard client.connection.spool == .open else { return }
            guard let job = client.connection.job(of: reader.sequence) else { continue }
            self.dispatch.release(job)
            let standing = filter.standing(now: now.monotonic)
            let action = client.connection.release(reader.sequence, now: now.monotonic, standing: standing)
            self.perform(action, client, &filter, now: now)
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

    /// Goes on with what waited for the store. The connection may have given up meanwhile.
    private func durable(_ episode: EpisodeID, now: Moment) {
        guard let client = self.clients[episode.connection] else { return }
        self.withFilter(client.scope, now: now) { filter in
            client.connection.spool = self.spool(for: client.identity, now: now)
            let standing = filter.standing(now: now.monotonic)
            let action = client.connection.durable(episode, now: now.monotonic, standing: standing)
            self.perform(action, client, &filter, now: now)
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

    /// Gives up what has no last answer. It comes as events, and is lost. What the store has stays there.
    ///
    /// - Returns: whether nothing was lost.
    package func abandon() -> Bool {
        let before = self.dispatch.counts.deadLetters
        self.dispatch.abandon(durable: self.journal?.durable)
        return self.dispatch.counts.deadLetters == before
    }

    // MARK: Notifications

    private func admit(
        _ offer: GatewayConnection.Offer,
        _ bytes: UnsafeBufferPointer<UInt8>,
        _ client: GatewayClient,
        _ filter: inout ReplayFilter,
        now: Moment
    ) -> GatewayConnection.Admitted {
        self.dispatch.counts.read += 1
        let token: UnsafeBufferPointer<UInt8> = UnsafeBufferPointer(rebasing: bytes[offer.frame.token])
        let payload = UnsafeBufferPointer(rebasing: bytes[offer.frame.payload])
        let nature = PayloadNature(payload)
        let id = self.dispatch.makeID()
        let isNamed = offer.frame.identifier != nil
        var knownBad: BinaryStatus?
        var fate = JobFate.running
        if !nature.isValid {
            fate = .rejected(.invalidPayloadSize)
        } else if self.dispatch.knowsBadTokens {
            knownBad = self.dispatch.knownBad(Array(token), identity: client.identity)
            if let knownBad { fate = .rejected(knownBad) }
        }
        var follower = Follower(
            key: self.makeKey(self.dispatch.topic(of: client.identity), token, payload),
            job: id,
            fate: fate,
            isConstant: nature.isConstant,
            identifier: offer.frame.identifier
        )
        let reader = Job.Reader(connection: offer.origin.connection, sequence: offer.sequence)
        switch filter.admit(follower, from: offer.origin, now: now.monotonic) {
        case .forward:
            if let knownBad {
                self.dispatch.refuseKnownBad(
                    client.identity,
                    token: Array(token),
                    knownBad,
                    isNamed: isNamed,
                    as: id
                )
            } else if case .rejected(let status) = fate {
                let countsCharacters = CharacterLength.isLength(of: offer.frame.payload, in: bytes)
                self.dispatch.refuse(
                    client.identity,
                    token: Array(token),
                    status,
                    countsCharacters ? .payloadLengthInCharacters : nil,
                    isNamed: isNamed,
                    as: id
                )
            } else {
                var job = Job(
                    scope: client.scope,
                    token: token,
                    payload: payload,
                    expiration: Self.expiration(offer.frame.expiration, now: now),
                    priority: offer.frame.priority ?? 0,
                    first: reader,
                    readAt: now.monotonic,
                    readAtSeconds: now.epochSeconds
                )
                job.isNamed = isNamed
                self.journal?.read(&job, as: id, now: now)
                client.isJournalled = true
                self.dispatch.take(job, as: id)
                if let segment = self.journal?.number {
                    self.unsent.append((segment, id))
                } else if !self.dispatch.send(id, now: now) {
                    self.heldBack.append(reader)
                }
            }
            return .init(follower, .new)
        case .join(let running, let fate):
            self.dispatch.counts.swallowed += 1
            follower.job = running
            // A job that has its answer, but whose feedback row the store does not have yet, tells no more copies.
            follower.fate = fate == .running && self.dispatch.scope(of: running) == nil ? .accepted : fate
            self.dispatch.join(running, reader)
            self.journalCopy(follower, reader, client, now: now)
            return .init(follower, .copy)
        case .overtaken(let running):
            self.dispatch.counts.swallowed += 1
            follower.job = running
            follower.fate = .accepted
            self.journalCopy(follower, reader, client, now: now)
            return .init(follower, .copy)
        case .circle:
            self.dispatch.counts.swallowed += 1
            follower.fate = .accepted
            return .init(follower, .circling)
        }
    }

    private func journalCopy(_ follower: Follower, _ reader: Job.Reader, _ client: GatewayClient, now: Moment) {
        self.journal?.copy(reader, of: follower, client.scope, now: now)
        client.isJournalled = true
    }

    /// The `apns-expiration` of a notification. A time that has passed, or that is a negative number in old clients, meant
    /// "once" to Apple's gateway.
    private static func expiration(_ expiration: UInt32?, now: Moment) -> UInt32 {
        guard let expiration, expiration > now.epochSeconds, expiration < 1 << 31 else { return 0 }
        return expiration
    }

    // MARK: Outcomes

    /// Takes the outcomes of an upstream.
    package func settled(_ records: [OutcomeRecord], now: Moment) {
        var index = 0
        while index < records.count {
            guard let scope = self.dispatch.scope(of: JobID(rawValue: records[index].tag.rawValue)) else {
                index += 1
                continue
            }
            // Most outcomes in a row are of one client.
            self.withFilter(scope, now: now) { filter in
                let standing = filter.standing(now: now.monotonic)
                repeat {
                    let id = JobID(rawValue: records[index].tag.rawValue)
                    if let settled = self.dispatch.settle(id, records[index].outcome, now: now) {
                        self.settled(settled, id, scope, &filter, standing, now: now)
                    }
                    index += 1
                } while index < records.count
                    && self.dispatch.scope(of: JobID(rawValue: records[index].tag.rawValue)) == scope
            }
        }
        self.collectNotes(now: now)
    }

    /// Notes a last answer, and passes it on as soon as the store has what it rests on.
    private func settled(
        _ settled: Dispatch.Settled,
        _ id: JobID,
        _ scope: ReplayScope,
        _ filter: inout ReplayFilter,
        _ standing: ReplayFilter.Standing,
        now: Moment
    ) {
        self.journal?.answered(id, settled.fate, in: settled.segment, now: now)
        self.collectRows(now: now)
        if settled.isGone, let segment = self.journal?.number {
            self.unsettled.append((segment, id, scope, settled))
        } else {
            self.pass(settled, id, &filter, standing, now: now)
        }
    }

    /// Passes a last answer to the connections that wait for it, and to the copies that may come.
    private func pass(
        _ settled: Dispatch.Settled,
        _ id: JobID,
        _ filter: inout ReplayFilter,
        _ standing: ReplayFilter.Standing,
        now: Moment
    ) {
        var isHeard = filter.settled(id, settled.fate)
        if self.pass(settled.fate, to: settled.first, id, &filter, standing, now: now) { isHeard = true }
        for reader in settled.joined where self.pass(settled.fate, to: reader, id, &filter, standing, now: now) {
            isHeard = true
        }
        if case .rejected = settled.fate, !isHeard { self.dispatch.deferRejection(of: id) }
    }

    /// Returns whether this connection tells the result, or says that it will not.
    private func pass(
        _ fate: JobFate,
        to reader: Job.Reader,
        _ id: JobID,
        _ filter: inout ReplayFilter,
        _ standing: ReplayFilter.Standing,
        now: Moment
    ) -> Bool {
        guard let client = self.clients[reader.connection] else { return false }
        client.connection.spool = self.spool(for: client.identity, now: now)
        let isHeard = client.connection.answers(for: reader.sequence)
        let action = client.connection.settled(reader.sequence, id, fate, now: now.monotonic, standing: standing)
        self.perform(action, client, &filter, now: now)
        return isHeard
    }

    // MARK: The store's answers

    /// Does what waited for the segments that are durable now.
    func goOn(now: Moment) {
        guard let durable = self.journal?.durable else { return }
        while let first = self.unsettled.first, first.segment <= durable {
            self.unsettled.removeFirst()
            self.withFilter(first.scope, now: now) { filter in
                self.pass(first.settled, first.job, &filter, filter.standing(now: now.monotonic), now: now)
            }
        }
        while let first = self.unopened.first, first.segment <= durable {
            self.unopened.removeFirst()
            self.durable(first.episode, now: now)
        }
        while let first = self.unsent.first, first.segment <= durable {
            self.unsent.removeFirst()
            let isHeld = !self.dispatch.send(first.job, now: now)
            self.releaseSpooled(first.job, isHeld: isHeld, now: now)
        }
    }

    /// Counts a notification as accepted as soon as the store has it, if its client wants no more, or if it waits at a
    /// shut gate: see ``releaseHeldBack(_:_:now:)``.
    private func releaseSpooled(_ id: JobID, isHeld: Bool, now: Moment) {
        guard let job = self.dispatch.job(id),
            isHeld || self.dispatch.identities[job.scope.identity].mode == .spool
        else { return }
        self.dispatch.release(id)
        guard let client = self.clients[job.first.connection] else { return }
        self.withFilter(client.scope, now: now) { filter in
            client.connection.spool = self.spool(for: client.identity, now: now)
            let standing = filter.standing(now: now.monotonic)
            let action = client.connection.release(job.first.sequence, now: now.monotonic, standing: standing)
            self.perform(action, client, &filter, now: now)
        }
    }

    /// Whether the client may send something again.
    func sendsAgain(_ scope: ReplayScope, now: Moment) -> Bool {
        let new = self.dispatch.identities[scope.identity].filter
        return self.filters.with(scope, new: new, now: now.monotonic) { $0.replayClass != .never }
    }

    /// Lets every connection see whether the store has come back, or is given up.
    ///
    /// - Parameter before: what a connection may have seen since the last call; nil: nothing.
    func wakeClients(since before: GatewayConnection.Spool? = nil, now: Moment) {
        let spool = self.journal?.spool(now: now.monotonic) ?? .open
        guard spool != self.lastSpool || spool != before ?? spool else { return }
        self.lastSpool = spool
        for client in self.clients.values {
            self.withFilter(client.scope, now: now) { filter in
                client.connection.spool = self.spool(for: client.identity, now: now)
                let standing = filter.standing(now: now.monotonic)
                let action = client.connection.timePassed(now: now.monotonic, standing: standing)
                self.perform(action, client, &filter, now: now)
            }
        }
    }

    /// Writes the last unanswered jobs of old segments anew.
    private func carrySparse(now: Moment) {
        for segment in self.journal?.timePassed(now: now.monotonic) ?? [] {
            let read = segment.jobs.map { $0.map { JobID(rawValue: $0) } } ?? []
            for id in read + segment.carried {
                // The rest goes with the next sweep: one segment for all of it would stop everything else.
                guard self.journal?.openLength ?? 0 < JournalBounds.segmentLength else { return }
                self.dispatch.withJob(id) { job in
                    if job.segment == segment.number { self.journal?.carry(&job, as: id, now: now) }
                }
            }
        }
    }

    func restore(_ id: EpisodeID, _ kind: EpisodeKind, _ scope: ReplayScope, _ followers: [Follower], now: Moment) {
        self.withFilter(scope, now: now) { $0.open(id, kind, followers: followers, now: now.monotonic) }
    }

    func restore(_ id: JobID, _ job: consuming Job, now: Moment) {
        self.dispatch.counts.recovered += 1
        self.dispatch.take(job, as: id)
        self.dispatch.send(id, now: now)
    }

    func restore(
        _ id: JobID,
        rejected token: [UInt8],
        _ status: BinaryStatus,
        of identity: Int,
        isFollower: Bool
    ) {
        self.dispatch.restore(id, rejected: token, status, of: identity)
        if !isFollower { self.dispatch.deferRejection(of: id) }
    }

    func restore(_ habit: ClientHabit, now: Moment) {
        let new = self.dispatch.identities[habit.scope.identity].filter
        self.filters.with(habit.scope, new: new, now: now.monotonic) {
            $0.restore(habit.habits, habit.replayClass, shownAt: habit.shownAt)
        }
    }

    func restore(_ row: FeedbackRows.Row, of identity: Int) { self.dispatch.feedback.restore(row, of: identity) }

    // MARK: The machines below

    /// Calls `body` with the replay filter of a scope, and takes what the filter puts out.
    private func withFilter(_ scope: ReplayScope, now: Moment, _ body: (inout ReplayFilter) -> Void) {
        self.filters.with(scope, new: self.dispatch.identities[scope.identity].filter, now: now.monotonic) { filter in
            filter.today = SendingHabits.day(now.epochSeconds)
            let (replayClass, habits) = (filter.replayClass, filter.habits)
            body(&filter)
            if filter.replayClass != replayClass { filter.classShownAt = now.epochSeconds }
            if filter.replayClass != replayClass || filter.habits != habits {
                self.journal?.learned(ClientHabit(scope, filter), now: now)
            }
            self.collect(&filter, now: now)
            self.filterTimers[scope] = filter.nextDeadline
            self.setTimers(filter.standing(now: now.monotonic))
        }
        while let scope = self.left.popLast() {
            for forgotten in self.filters.closed(scope) {
                self.filterTimers[forgotten] = nil
                self.journal?.forget(forgotten, now: now)
            }
        }
    }

    /// Does the action of a connection, and takes what else the connection puts out.
    private func perform(
        _ action: GatewayConnection.Action,
        _ client: GatewayClient,
        _ filter: inout ReplayFilter,
        now: Moment
    ) {
        let id = client.connection.id
        filter.note(client.connection)
        switch action {
        case .none:
            break
        case .journal(let episode):
            guard self.journal != nil else {
                let standing = filter.standing(now: now.monotonic)
                let action = client.connection.durable(episode, now: now.monotonic, standing: standing)
                return self.perform(action, client, &filter, now: now)
            }
            self.giveUpJournalled(client, now: now)
            let named = client.connection.job(of: episode.sequence)
            self.journal?.told(episode, named, client.scope, now: now)
            client.isJournalled = true
            client.journalled = episode
            if let segment = self.journal?.number { self.unopened.append((segment, episode)) }
        case .tell(let telling):
            filter.open(
                telling.episode,
                telling.kind,
                named: telling.named,
                roundTrip: telling.roundTrip,
                followers: telling.followers,
                now: now.monotonic
            )
            client.journalled = nil
            // A client that never sends again has no episodes.
            if filter.replayClass == .never {
                self.journal?.over(telling.episode, now: now)
            } else {
                self.named[telling.episode] = telling.job
            }
            if telling.kind == .rejection { self.dispatch.counts.told += 1 }
            self.actions.append(Action(connection: id, work: .tell(telling.response)))
        case .closeOutput:
            self.actions.append(Action(connection: id, work: .closeOutput))
        case .drained(let episode):
            filter.drained(episode, now: now.monotonic)
        case .close(let episode):
            if let episode { filter.drained(episode, now: now.monotonic) }
            filter.closed(id, now: now.monotonic)
            self.clients[id] = nil
            self.left.append(client.scope)
            if client.isJournalled { self.journal?.closed(id, now: now) }
            self.actions.append(Action(connection: id, work: .close))
        }
        if client.connection.waitingEpisode != client.journalled { self.giveUpJournalled(client, now: now) }
        self.collect(client)
        if client.isReading != client.connection.isReading {
            client.isReading.toggle()
            // A connection that is closed stops nothing.
            if self.clients[id] != nil { filter.reads(id, client.isReading, now: now.monotonic) }
            self.actions.append(Action(connection: id, work: .read(client.isReading)))
        }
        guard !client.isTouched else { return }
        client.isTouched = true
        self.touched.append(client)
    }

    /// Notes that an error response was given up whose episode the journal has.
    private func giveUpJournalled(_ client: GatewayClient, now: Moment) {
        guard let journalled = client.journalled else { return }
        client.journalled = nil
        self.journal?.untold(journalled, now: now)
    }

    private func collect(_ client: GatewayClient) {
        for rejection in client.connection.takeDeferred() { self.dispatch.deferRejection(of: rejection.job) }
        for job in client.connection.takeReleased() { self.dispatch.release(job) }
        for refusal in client.connection.takeRefused() {
            self.dispatch.counts.read += 1
            self.dispatch.refuse(
                client.identity,
                token: nil,
                refusal.status,
                isNamed: refusal.identifier != nil,
                as: nil
            )
        }
    }

    private func collect(_ filter: inout ReplayFilter, now: Moment) {
        for untold in filter.takeUntold() { self.dispatch.deferRejection(of: untold.job) }
        for ended in filter.takeEnded() {
            self.journal?.over(ended.episode, now: now)
            let job = self.named.removeValue(forKey: ended.episode)
            if ended.isUnheard { self.dispatch.deferRejection(of: job) }
        }
    }

    // MARK: Time

    /// When to call ``timePassed(now:)``; nil: only inputs change anything.
    package var nextDeadline: NIODeadline? {
        [
            self.timers.min?.at, self.dispatch.nextDeadline, self.filterTimers.values.min(), self.journal?.nextDeadline,
            self.list?.nextDeadline,
        ]
        .compactMap(\.self).min()
    }

    /// Does everything that is due. A call that is too early does no harm.
    package func timePassed(now: Moment) {
        for (id, scope, settled) in self.dispatch.timePassed(now: now) {
            self.withFilter(scope, now: now) { filter in
                self.settled(settled, id, scope, &filter, filter.standing(now: now.monotonic), now: now)
            }
        }
        self.collectNotes(now: now)
        self.carrySparse(now: now)
        self.wakeClients(now: now)
        for (scope, at) in self.filterTimers where at <= now.monotonic {
            self.withFilter(scope, now: now) { $0.timePassed(now: now.monotonic) }
        }
        while let timer = self.timers.min, timer.at <= now.monotonic {
            self.timers.removeMin()
            guard let client = self.clients[timer.connection] else { continue }
            client.timer = .distantFuture
            self.withFilter(client.scope, now: now) { filter in
                client.connection.spool = self.spool(for: client.identity, now: now)
                let standing = filter.standing(now: now.monotonic)
                let action = client.connection.timePassed(now: now.monotonic, standing: standing)
                self.perform(action, client, &filter, now: now)
            }
        }
    }

    /// Sets the timers of the connections that had an input. A timer that is too early does no harm, so that most inputs
    /// set none.
    private func setTimers(_ standing: ReplayFilter.Standing) {
        for client in self.touched {
            client.isTouched = false
            guard let at = client.connection.nextDeadline(standing: standing), at < client.timer else { continue }
            client.timer = at
            self.timers.insert(Timer(at: at, connection: client.connection.id))
        }
        self.touched.removeAll(keepingCapacity: true)
    }
}
