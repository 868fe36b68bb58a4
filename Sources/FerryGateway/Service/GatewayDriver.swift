internal import FerryBinary
internal import FerryCore
internal import FerryMachine
internal import FerryOpenSSL
internal import FerryServer
internal import NIOCore

/// The owner of a ``GatewayMachine`` on an event loop. The driver carries out the machine's actions, and passes the
/// machine's batches to the upstreams.
///
/// `@unchecked Sendable`: after ``start()``, everything is used on the event loop only, except the constants `loop`,
/// `right` and `sides`.
final class GatewayDriver: @unchecked Sendable {
    /// The reason for closing a silent connection whose place another connection needs.
    static let tookPlace = "It said nothing, all connections that may be open were open, and others wanted its place."

    private let loop: MachineLoop
    private let machine: GatewayMachine
    var upstreams: [GatewayUpstream]
    /// The upstreams that a reload has replaced or removed, until their last notification has an answer, for five
    /// minutes at most.
    var leaving: [UInt64: GatewayUpstream] = [:]
    var lastLeaving: UInt64 = 0
    /// The numbers of upstreams that the configuration no longer names, while notifications wait for them.
    var draining: Set<Int> = []
    var drainCheck: Scheduled<Void>?
    let sides = SideProviders()
    private let store: (any GatewayStore)?
    /// The store if other processes share it.
    private let shared: (any SharedStore)?
    private let list: ListFile?
    /// The names of the clients for people, and in the store.
    private var names: [String]
    private var storeNames: [String]
    private let onEvent: (GatewayEvent, FateCounts) -> Void
    private let onConnection: ((ClientAddress, Bool) -> Void)?
    private var onHandedOver: (() -> Void)?
    /// The right to send, which a shared store may end.
    let right: ForwardingRight
    /// Whether the last turn forwarded nothing, because the right to send was missing.
    private var waitsForRight = false
    private(set) var handlers: [ConnectionID: GatewayHandler] = [:]
    /// The clients of the connections for which ``onConnection`` was called.
    private var addresses: [ConnectionID: ClientAddress] = [:]
    private var strangers = StrangerNames()
    /// The number of connections of clients whose TLS handshake has not ended. The shutdown waits for these
    /// connections, too, because their clients were not refused. Readers of the feedback service are not counted.
    private var handshakes = 0
    /// The number of the client that the last judged handshake did not admit; nil if that handshake admitted its
    /// client, and after ``takePostponed()``.
    private var postponed: Int?
    private var onClientsGone: (() -> Void)?
    private var onSettled: (segment: UInt64?, body: () -> Void)?
    private var onWritten: (() -> Void)?
    private var stage = Stage.running
    private(set) var work = LoopFigures()

    /// Whether the shutdown has begun.
    var isEnding: Bool { if case .running = self.stage { false } else { true } }

    /// The stage of the gateway's life.
    private enum Stage {
        case running
        /// All connections end, even those whose handshake ends only now. Notifications that were read are still sent,
        /// until the machine is abandoned.
        case ending
        /// Nothing more goes to an upstream, to the store or to the list.
        case finished
    }

    var isFinished: Bool { if case .finished = self.stage { true } else { false } }

    init(
        _ machine: GatewayMachine,
        upstreams: [GatewayUpstream],
        store: (any GatewayStore)?,
        list: ListFile? = nil,
        names: [String],
        on eventLoop: any EventLoop,
        onHandedOver: @escaping () -> Void = {},
        onConnection: ((ClientAddress, Bool) -> Void)? = nil,
        onEvent: @escaping (GatewayEvent, FateCounts) -> Void
    ) {
        self.names = names
        self.storeNames = names
        self.machine = machine
        self.upstreams = upstreams
        self.store = store
        self.shared = store as? any SharedStore
        self.list = list
        self.right = self.shared?.right ?? .endless
        self.loop = MachineLoop(on: eventLoop)
        self.onConnection = onConnection
        self.onHandedOver = onHandedOver
        self.onEvent = onEvent
    }

    /// Begins to listen to the outcomes of the upstreams, and to a shared store.
    func start() {
        self.shared?.onFenced { [weak self] in
            guard let self else { return }
            self.eventLoop.execute { self.run { $0.handOver(now: $1) } }
        }
        self.shared?.onLate { [weak self] segments in
            guard let self else { return }
            self.eventLoop.execute { self.run { $0.takeOver(segments, now: $1) } }
        }
        for upstream in self.upstreams { self.listen(to: upstream.outcomes) }
        // Notifications of an earlier process are sent before the first client connects.
        self.eventLoop.execute { self.run { $0.timePassed(now: $1) } }
    }

    /// Listens to the outcomes of a provider, so that they reach the machine.
    ///
    /// The references in the closure are weak. The outcomes hold the closure. If the closure held the driver or the
    /// outcomes, a cycle of references would keep all of them for ever.
    func listen(to outcomes: UpstreamOutcomes) {
        outcomes.onNews { [weak self, weak outcomes] in
            guard let self, let outcomes else { return }
            self.eventLoop.execute { self.run { $0.settled(outcomes.take(), now: $1) } }
        }
    }

    /// Takes the names of the clients. Each client keeps its number.
    func rename(_ identities: [ClientIdentity]) {
        self.names = identities.map(\.label)
        self.storeNames = identities.map(\.storeName)
    }

    var eventLoop: any EventLoop { self.loop.eventLoop }

    var counts: FateCounts { self.machine.counts }

    /// The client of a connection; nil if the connection is closed.
    func identity(of id: ConnectionID) -> Int? { self.machine.identity(of: id) }

    func unanswered(of client: Int) -> Int { self.machine.unanswered(of: client) }

    func isDrained(_ upstream: Int) -> Bool { self.machine.isDrained(upstream) }

    func figures() -> (GatewayFigures, LoopFigures) { (self.machine.figures(now: .now), self.work) }

    func retry(_ letters: [Letter]) -> [LetterResult] {
        guard !self.isFinished else { return letters.map { _ in .noRoom } }
        var results: [LetterResult] = []
        self.run { results = $0.retry(letters, now: $1) }
        return results
    }

    func drop(_ letters: [APNSID]) -> [LetterResult] {
        guard !self.isFinished else { return letters.map { _ in .noRoom } }
        var results: [LetterResult] = []
        self.run { results = $0.drop(letters, now: $1) }
        return results
    }

    /// Returns the next notifications without a final answer; see
    /// ``GatewayMachine/waiting(after:_:limit:unreachable:now:)``.
    func waiting(after place: WaitingPlace, _ filter: WaitingFilter, limit: Int) -> ([WaitingRow], WaitingPlace?) {
        self.machine.waiting(after: place, filter, limit: limit, unreachable: self.unreachable, now: .now)
    }

    func waitingSums(after place: WaitingPlace, _ filter: WaitingFilter) -> ([WaitingSum], WaitingPlace?) {
        self.machine.waitingSums(after: place, filter, unreachable: self.unreachable, now: .now)
    }

    /// The upstreams whose last tries to connect, or whose last trial, failed. An untried upstream is not among them.
    private var unreachable: Set<Int> {
        Set(self.upstreams.indices.filter { self.upstreams[$0].watch.isFailing })
    }

    /// Whether a new connection is accepted. The address of a refused connection is reported, except at the shutdown.
    func isOpen(for address: String) -> Bool {
        guard !self.isFinished else { return false }
        guard let reason = self.machine.closedReason(now: .now) else { return true }
        // At the shutdown, the listener closes for every client, so a refusal is not reported.
        if case .running = self.stage { self.refused(address, reason) }
        return false
    }

    /// Whether a new connection of this client is accepted. The address of a refused connection is reported, as in
    /// ``isOpen(for:)``. If the reason concerns this client alone, the address is reported at the shutdown, too.
    func isOpen(identity: Int, for address: String) -> Bool {
        guard self.isOpen(for: address) else { return false }
        guard let reason = self.machine.closedReason(of: identity, now: .now) else { return true }
        self.refused(address, reason, self.names[identity])
        return false
    }

    /// Whether the handshake of a known client goes on.
    ///
    /// The driver judges the client in the middle of the handshake. A client that is refused later may have written
    /// notifications, and would take them for sent.
    func admits(_ identity: Int) -> Bool {
        let isOpen = self.machine.isOpen(identity: identity, now: .now)
        self.postponed = isOpen ? nil : identity
        return isOpen
    }

    /// Removes and returns the client that the last judged handshake did not admit.
    func takePostponed() -> Int? {
        defer { self.postponed = nil }
        return self.postponed
    }

    /// Whether a client that the handshake has judged is still served. If another process has the store, the client is
    /// not served, and its address is reported. After ``finish()``, no client is served.
    func serves(_ address: String) -> Bool {
        guard self.machine.isStoreTaken else { return !self.isFinished }
        self.refused(address, .storeTaken)
        return false
    }

    func handshakeBegan() { self.handshakes += 1 }

    /// Notes that a TLS handshake has ended, also if it failed.
    func handshakeEnded() {
        self.handshakes -= 1
        self.lookAround()
    }

    /// At the shutdown, checks whether the last client has gone.
    private func lookAround() {
        if case .ending = self.stage { self.run { _, _ in } }
    }

    // MARK: Feedback

    /// Takes the client's feedback rows for a reader, and passes them to `body`. Passes nil if another process has the
    /// store, or if a shared store does not give the rows now.
    func takeFeedback(of identity: Int, for address: String, then body: @escaping ((any FeedbackClaim)?) -> Void) {
        guard !self.machine.isStoreTaken else {
            self.refused(address, .storeTaken)
            return body(nil)
        }
        guard let shared else {
            var claim: FeedbackRows.Claim?
            self.withFeedback { claim = $0.claim(identity, now: .now()) }
            return body(claim.map { ClaimedFeedback($0, of: self) })
        }
        shared.takeFeedback(of: self.storeNames[identity], within: GatewayBounds.feedback, on: self.eventLoop) {
            switch $0 {
            case .success(let rows): body(rows)
            case .failure(let error):
                self.refused(address, .store, error.description)
                body(nil)
            }
        }
    }

    /// Calls `body` with the feedback lists of all clients.
    func withFeedback(_ body: (inout FeedbackRows) -> Void) {
        self.run { machine, now in machine.withFeedback(now: now, body) }
    }

    // MARK: Inputs

    /// - Parameter clientAddress: the address for ``onConnection``; empty if ``onConnection`` is not called for this
    ///   connection.
    func connected(
        _ handler: GatewayHandler,
        identity: Int,
        address: [UInt8],
        seenAt clientAddress: [UInt8],
        handshake: TimeAmount
    ) -> ConnectionID {
        let id = self.machine.connected(identity: identity, address: address, handshake: handshake, now: .now)
        self.handlers[id] = handler
        if let onConnection, let client = ClientAddress(client: self.names[identity], clientAddress) {
            self.addresses[id] = client
            onConnection(client, true)
        }
        // During a shutdown, the machine gives the new connection a deadline. This call sets the timer for the
        // deadline.
        self.lookAround()
        return id
    }

    /// Counts and reports a client that was refused.
    func refused(_ address: String, _ cause: RefusalCause, _ reason: String) {
        self.work.refusals[cause, default: 0] += 1
        guard let reason = self.strangers.name(address, refusedFor: reason, now: .now()) else { return }
        self.onEvent(.stranger(address: address, reason), self.counts)
    }

    /// Counts and reports a client that was refused because no new connection is accepted.
    ///
    /// - Parameter client: the name of the client; nil if it is not known.
    func refused(_ address: String, _ reason: ClosedReason, _ client: String? = nil) {
        self.refused(address, reason.cause, reason.sentence(client))
    }

    /// Counts and reports a proxy that was refused because of its header.
    func refused(_ address: String, _ fault: ProxyHeaderFault) { self.refused(address, .proxy, fault.description) }

    /// Reports a connection whose handshake failed.
    ///
    /// - Parameter certificate: the sentence about the certificate that was refused; nil if none was refused.
    func failed(_ address: String, _ tls: TLSHandler, _ error: TLSError, _ certificate: String?) {
        if tls.isPeerDoctor {
            self.checked(address, .doctor)
        } else if error.code == .endOfStreamInHandshake, tls.ciphertextBytesConsumed == 0 {
            self.checked(address, .connection)
        } else {
            self.refused(
                address,
                certificate == nil ? .handshake : .certificate,
                certificate ?? error.description
            )
        }
    }

    func report(_ event: GatewayEvent) { self.onEvent(event, self.counts) }

    /// Reports a connection that sends no notification, because it only checks the gateway.
    func checked(_ address: String, _ check: GatewayEvent.Check) {
        guard self.strangers.names(address, for: check, now: .now()) else { return }
        self.onEvent(.check(address: address, check), self.counts)
    }

    /// Notes that the channel is closed.
    func disconnected(_ id: ConnectionID) {
        self.run { $0.inputEnded(id, now: $1) }
        self.handlers[id] = nil
        if let client = self.addresses.removeValue(forKey: id) { self.onConnection?(client, false) }
    }

    /// Gives an input to the machine, and carries out its actions.
    func run(_ input: (GatewayMachine, Moment) -> Void) {
        let now = Moment.now
        defer { self.work.turns.add(nanoseconds: (NIODeadline.now() - now.monotonic).nanoseconds) }
        self.machine.mayTell = self.right.mayTell
        self.machine.putEndOff(now: now)
        input(self.machine, now)
        self.loop.run {
            self.carryOut()
            self.forward()
            self.writeList()
            for event in self.machine.takeEvents() { self.onEvent(event, self.counts) }
            self.commit()
        } afterwards: {
            self.schedule()
            self.checkHandedOver()
            self.checkClients()
            self.checkSettled()
            self.checkWritten()
        }
    }

    private func carryOut() {
        var actions = self.machine.takeActions()
        while !actions.isEmpty {
            for action in actions { self.carryOut(action) }
            actions = self.machine.takeActions()
        }
    }

    private func carryOut(_ action: GatewayMachine.Action) {
        guard let handler = self.handlers[action.connection] else { return }
        switch action.work {
        case .tell(let response):
            let isLastWord = response.status == .shutdown && self.machine.isSayingGoodbye
            if self.right.mayTell || isLastWord { handler.tell(response) } else { handler.closeOutput() }
        case .closeOutput: handler.closeOutput()
        case .close: handler.close()
        case .read(let isReading): handler.setReading(isReading)
        }
    }

    private func forward() {
        guard !self.isFinished else { return }
        // Without the right, the driver submits nothing. A provider would give each notification back after the
        // notification's deadline, and each return would count as an attempt.
        let isHeld = self.right.isHeld
        self.waitsForRight = !isHeld
        for (index, upstream) in self.upstreams.enumerated() {
            if isHeld {
                self.machine.withBatches(for: index) { way, batch in
                    switch way {
                    case .common: upstream.provider.trySubmit(&batch)
                    case .side(let id): self.side(id, of: upstream).trySubmit(&batch)
                    }
                }
            }
            for id in self.machine.takeEndedSides(of: index) { self.sides.close(id) }
        }
    }

    /// Forwards the notifications that wait for the right. Call it when the right is back.
    func rightReturned() {
        if self.waitsForRight { self.run { _, _ in } }
    }

    /// Returns the provider of a side connection. The first batch makes the provider. If no side provider can be made,
    /// returns the common provider.
    private func side(_ id: SideID, of upstream: GatewayUpstream) -> any PushProvider {
        if let side = self.sides[id] { return side.provider }
        let made = upstream.makeSide { [weak self] in
            guard let self else { return }
            self.eventLoop.execute { self.run { $0.lost(id, now: $1) } }
        }
        guard let made else { return upstream.provider }
        self.sides.add(made, as: id)
        self.listen(to: made.outcomes)
        return made.provider
    }

    /// Passes the remaining records to the store, and then ends the work, because the store and the list are closed
    /// next.
    func finish() {
        self.run { machine, now in
            machine.sealJournal(now: now)
            machine.abandonList()
        }
        self.stage = .finished
        self.loop.stopTimer()
        // All gateways with a shared store write to one file, so this gateway leaves the file open.
        if !self.machine.isShared { self.list?.close() }
    }

    private func writeList() {
        guard !self.isFinished else { return }
        // This call also passes the lines to a shared store, even if there is no file.
        let batch = self.machine.takeLines(now: .now)
        guard let list, let batch else { return }
        list.write(batch) { answer in
            self.eventLoop.execute { self.run { $0.written(answer, now: $1) } }
        }
    }

    /// Calls `body` when the store and the file of the list of rejections have everything. A store that refuses
    /// commits, or a file that accepts nothing, gets one more try. `body` does not wait for a second failure, or for a
    /// store that does not answer.
    func writeRest(then body: @escaping () -> Void) {
        self.onWritten = body
        self.run { machine, _ in machine.tryRest() }
    }

    private func checkWritten() {
        guard let body = self.onWritten, self.machine.isWritten else { return }
        self.onWritten = nil
        body()
    }

    private func commit() {
        guard let store, !self.isFinished else { return }
        for commit in self.machine.takeCommits(now: .now) {
            let (segment, begin) = (commit.segment.number, NIODeadline.now())
            store.append(commit) { answer in
                self.eventLoop.execute {
                    if answer == .durable { self.work.commits.add(nanoseconds: (.now() - begin).nanoseconds) }
                    self.run { $0.stored(segment, answer, now: $1) }
                }
            }
        }
    }

    // MARK: Time

    private func schedule() {
        guard !self.isFinished, let deadline = self.machine.nextDeadline else { return }
        guard self.loop.needsTimer(by: deadline) else { return }
        self.loop.setTimer(at: deadline) { self.run { $0.timePassed(now: $1) } }
    }

    // MARK: The end

    /// Ends all connections. Calls `body` when no connection is left.
    func shutDown(then body: @escaping () -> Void) {
        self.onClientsGone = body
        if case .running = self.stage { self.stage = .ending }
        self.run { $0.shutDown(now: $1) }
    }

    private func checkHandedOver() {
        guard self.machine.isHandedOver else { return }
        self.onHandedOver.take()?()
    }

    private func checkClients() {
        guard let body = self.onClientsGone, self.handshakes == 0, self.machine.connectionCount == 0 else { return }
        self.onClientsGone = nil
        body()
    }

    /// Calls `body` when the shutdown need not wait for notifications any more. With a store, the wait ends when the
    /// store has all notifications, or belongs to another process. Without a store, the wait ends when each
    /// notification has its final answer.
    func settle(then body: @escaping () -> Void) {
        self.run { machine, now in
            machine.sealJournal(now: now)
            self.onSettled = (machine.lastSegment, body)
        }
    }

    private func checkSettled() {
        guard let (segment, body) = self.onSettled else { return }
        guard segment.map({ self.machine.isStored(through: $0) }) ?? self.machine.isIdle else { return }
        self.onSettled = nil
        body()
    }

    /// Gives up the notifications that have no final answer, and are neither in the store nor at an upstream. No
    /// further notification goes to an upstream. Outcomes are still taken and kept.
    func abandon() { self.run { machine, _ in machine.abandon() } }

    /// Gives up the notifications without a final answer, after the upstreams have ended. With a store, this method
    /// gives up nothing, because the next process sends these notifications.
    ///
    /// - Returns: whether no notification was lost since the first call of ``abandon()``.
    func giveUpUnanswered() -> Bool {
        var isKept = false
        self.run { machine, _ in isKept = machine.giveUpUnanswered() }
        return isKept
    }
}
