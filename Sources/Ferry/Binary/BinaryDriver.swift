internal import FerryBinary
internal import FerryCore
internal import FerryMachine
internal import FerryOpenSSL
internal import Logging
internal import NIOCore

#if canImport(Glibc)
private import Glibc
#elseif canImport(Musl)
private import Musl
#else
private import Darwin
#endif

/// Runs a ``BinaryClient`` on an event loop: carries out its actions, and delivers what it gives.
///
/// `@unchecked Sendable`: everything but `eventLoop`, `queue`, `calls` and `events` is touched on the event loop only.
final class BinaryDriver: @unchecked Sendable {
    /// How many bytes of frames go to TLS at a time: six records.
    static let chunk = 96 << 10
    /// Timers closer than this are one timer.
    static let timerResolution: TimeAmount = .microseconds(100)

    let eventLoop: any EventLoop
    let events = EventHub()
    let queue: SubmissionQueue
    let calls = ReportCalls()
    /// Set once, in `init`.
    private(set) var stream: OutcomeBuffer?
    private let sink: (any OutcomeSink)?
    private let connector: BinaryConnector
    private let queueLimit: Int
    private let logger: Logger
    private var client: BinaryClient
    private var connections: [ConnectionID: BinaryConnectionHandler] = [:]
    /// The deadlines of connections that are being made.
    private var dials: [ConnectionID: Scheduled<Void>] = [:]
    private var frames = ByteBuffer()
    private var records: [OutcomeRecord] = []
    private var timer: (deadline: NIODeadline, task: Scheduled<Void>)?
    private var isRunning = false
    private var runsAgain = false
    private var drains: [Drain] = []
    private var shutdowns: [Drain] = []
    private var isFinished = false
    /// Never due: it is dropped when the event loop ends. Set once, in `init`.
    private var loopEnd: NIOScheduledCallback?
    /// Whether the loop runs nothing any more, so that any thread may do what is left.
    private var hasLoopEnded = false

    private struct Drain {
        var call: UInt64
        var deadline: Scheduled<Void>
    }

    init(_ configuration: BinaryConfiguration, connector: BinaryConnector) {
        self.eventLoop = configuration.eventLoopGroup.next()
        self.connector = connector
        self.client = BinaryClient(options: configuration.options)
        self.queueLimit = max(configuration.options.queueLimit, 1)
        self.logger = configuration.logger
        if case .sink(let sink) = configuration.outcomes { self.sink = sink } else { self.sink = nil }
        self.queue = SubmissionQueue(limit: self.queueLimit)
        if case .stream = configuration.outcomes {
            self.stream = OutcomeBuffer { [weak self] in self?.wake() }
        }
        let options = configuration.options
        if options.cachePolicy == .hold, !options.autoAdjustCache {
            self.logger.debug(
                "the cache does not grow: no more than its length is sent in a round trip and a settle time",
                metadata: [
                    "apns.cacheLength": "\(options.cacheLength)", "apns.settleTime": "\(options.settleTime)",
                ]
            )
        }
        let watch = LoopWatch { [weak self] in self?.loopEnded() }
        self.loopEnd = try? self.eventLoop.scheduleCallback(at: .distantFuture, handler: watch)
    }

    // MARK: Any thread

    /// Hands notifications over.
    func offer(_ batch: inout PushBatch) -> SubmissionQueue.Answer {
        self.wakeIfNews(self.queue.offer(&batch))
    }

    /// Hands one notification over that a task awaits.
    func offer(
        _ notification: PushNotification,
        to device: DeviceToken,
        awaited tag: UInt64
    ) -> SubmissionQueue.Answer {
        self.wakeIfNews(self.queue.offer(notification, to: device, awaited: tag))
    }

    private func wakeIfNews(_ answer: SubmissionQueue.Answer) -> SubmissionQueue.Answer {
        if case .taken(isNews: true) = answer { self.wake() }
        return answer
    }

    func withdraw(_ awaited: AwaitedOutcome) {
        if self.queue.withdraw(awaited) { self.wake() }
    }

    private func wake() {
        guard !self.calls.haveEnded else { return }
        self.eventLoop.execute { self.run() }
    }

    private var now: Moment {
        Moment(monotonic: .now(), epochSeconds: UInt32(clamping: time(nil)))
    }

    // MARK: The loop

    /// Does what there is to do, until nothing is left.
    ///
    /// What it calls may call back here; then it goes on once more instead of recursing.
    func run() {
        assert(self.eventLoop.inEventLoop || self.hasLoopEnded)
        guard !self.isRunning else {
            self.runsAgain = true
            return
        }
        self.isRunning = true
        repeat {
            self.runsAgain = false
            self.collect()
            self.tickIfDue()
            self.carryOut()
            self.write()
            self.carryOut()
            self.deliver()
        } while self.runsAgain
        self.isRunning = false
        self.publish()
        self.schedule()
        self.checkDrains()
    }

    private func collect() {
        let delivery = self.queue.collect()
        for run in delivery.runs { self.client.submit(run, now: self.now) }
        if !delivery.withdrawn.isEmpty {
            self.client.withdraw(Set(delivery.withdrawn.map(\.tag)), now: self.now)
        }
    }

    private func tickIfDue() {
        guard let deadline = self.client.nextDeadline else { return }
        let now = self.now
        if deadline <= now.monotonic { self.client.tick(now: now) }
    }

    private func carryOut() {
        var actions = self.client.takeActions()
        while !actions.isEmpty {
            for action in actions { self.carryOut(action) }
            actions = self.client.takeActions()
        }
        for event in self.client.takeEvents() {
            self.log(event)
            self.events.send(event)
        }
    }

    private func carryOut(_ action: BinaryClient.Action) {
        switch action {
        case .dial(let id): self.dial(id)
        case .close(let id):
            self.dials.removeValue(forKey: id)?.cancel()
            self.connections.removeValue(forKey: id)?.abort()
        case .finish(let id): self.connections[id]?.finish()
        case .sample(let id): self.sample(id)
        }
    }

    private func write() {
        self.client.reportsTransmitted = self.events.hasSubscribers
        self.client.isPaused = (self.stream?.unreadCount ?? 0) >= self.queueLimit
        for connection in self.connections.values where connection.isConnected {
            self.write(to: connection)
        }
    }

    private func write(to connection: BinaryConnectionHandler) {
        while connection.isWritable {
            self.frames.clear()
            let now = self.now
            guard self.client.write(connection.id, into: &self.frames, atMost: Self.chunk, now: now) else { return }
            let end = connection.send(self.frames)
            self.client.flushed(connection.id, at: end, now: now)
        }
    }

    private func deliver() {
        guard !self.client.outcomes.records.isEmpty || !self.client.outcomes.awaited.isEmpty else { return }
        // The machine goes on with an empty array of its own, so that a sink may submit.
        swap(&self.records, &self.client.outcomes.records)
        let awaited = self.client.outcomes.awaited
        self.client.outcomes.awaited.removeAll(keepingCapacity: true)
        if !self.records.isEmpty {
            self.sink?.settled(self.records.span)
            self.stream?.append(self.records)
            self.records.removeAll(keepingCapacity: true)
        }
        for record in awaited { AwaitedOutcome.resume(record.tag.rawValue, with: record.outcome) }
    }

    private func publish() {
        self.queue.occupy(self.client.queuedCount + (self.stream?.unreadCount ?? 0))
    }

    private func schedule() {
        guard let deadline = self.client.nextDeadline, !self.isFinished else { return }
        if let timer, timer.deadline <= deadline { return }
        self.timer?.task.cancel()
        let at = max(deadline, .now() + Self.timerResolution)
        let task = self.eventLoop.assumeIsolated().scheduleTask(deadline: at) {
            self.timer = nil
            self.run()
        }
        self.timer = (at, task)
    }

    // MARK: Connections

    private func dial(_ id: ConnectionID) {
        self.logger.debug("connecting", metadata: ["apns.connection": "\(id.rawValue)"])
        self.dials[id] = self.eventLoop.assumeIsolated().scheduleTask(in: self.connector.connectTimeout) {
            // Said before the channel is closed, which would fail for a reason that is none.
            let connection = self.connections.removeValue(forKey: id)
            self.notConnected(id, ChannelError.connectTimeout(self.connector.connectTimeout))
            connection?.abort()
        }
        self.connector.connect(id, for: self).assumeIsolated().whenComplete { result in
            switch result {
            case .success(let channel): self.dialed(id, channel)
            case .failure(let error): self.notConnected(id, error)
            }
        }
    }

    /// TCP is up. A host with several addresses has several channels on the way: this is the one that came first.
    private func dialed(_ id: ConnectionID, _ channel: any Channel) {
        let handler = try? channel.pipeline.syncOperations.handler(type: BinaryConnectionHandler.self)
        guard let handler, channel.isActive else { return self.notConnected(id, ChannelError.eof) }
        guard self.isDialing(id) else { return handler.abort() }
        self.connections[id] = handler
    }

    /// Reports a failure once; the machine ignores connections that it has given up.
    private func notConnected(_ id: ConnectionID, _ error: any Error) {
        self.dials.removeValue(forKey: id)?.cancel()
        let failure = self.connector.tls.error(error)
        self.client.ended(id, .notConnected(failure), handed: 0, now: self.now)
        self.run()
    }

    /// Whether somebody still waits for the connection.
    func isDialing(_ id: ConnectionID) -> Bool { self.dials[id] != nil }

    func connected(_ connection: BinaryConnectionHandler) {
        guard self.connections[connection.id] === connection else { return }
        self.dials.removeValue(forKey: connection.id)?.cancel()
        self.client.connected(connection.id, now: self.now)
        self.run()
    }

    func received(_ bytes: ByteBuffer, on connection: BinaryConnectionHandler) {
        self.client.received(connection.id, bytes, handed: connection.transport.handed, now: self.now)
        self.run()
    }

    func writabilityChanged(_ connection: BinaryConnectionHandler) {
        self.client.writability(connection.id, isWritable: connection.isWritable)
        self.run()
    }

    func ended(_ connection: BinaryConnectionHandler, _ end: BinaryClient.End) {
        guard self.connections[connection.id] === connection else { return }
        self.connections[connection.id] = nil
        self.dials.removeValue(forKey: connection.id)?.cancel()
        self.client.ended(connection.id, end, handed: connection.transport.handed, now: self.now)
        self.run()
    }

    private func sample(_ id: ConnectionID) {
        self.connections[id]?.transport.sample { self.client.sampled(id, $0, now: self.now) }
    }

    // MARK: The end

    func drain(within limit: TimeAmount, call: UInt64) {
        self.run()
        let deadline = self.eventLoop.assumeIsolated().scheduleTask(in: limit) {
            self.drains.removeAll { $0.call == call }
            self.calls.answer(call, with: self.report)
        }
        self.drains.append(Drain(call: call, deadline: deadline))
        self.checkDrains()
    }

    func shutDown(within limit: TimeAmount, proof: Proof, call: UInt64) {
        self.queue.close()
        self.run()
        let deadline = self.eventLoop.assumeIsolated().scheduleTask(in: limit) {
            self.abandon(undelivered: .shutDown, uncertain: .shutDown)
        }
        self.shutdowns.append(Drain(call: call, deadline: deadline))
        self.client.shutDown(proof: proof, now: self.now)
        self.run()
    }

    /// Gives everything its outcome now.
    func abandon(undelivered: Outcome.UndeliveredCause, uncertain: Outcome.UncertainCause) {
        self.queue.close()
        self.run()
        let handed = self.connections.mapValues(\.transport.handed)
        self.client.abandon(
            undelivered: undelivered,
            uncertain: uncertain,
            handed: { handed[$0] ?? 0 },
            now: self.now
        )
        self.run()
    }

    /// The loop runs nothing any more, or the provider has finished. The channels are closed already.
    private func loopEnded() {
        guard !self.isFinished else { return }
        self.hasLoopEnded = true
        self.abandon(undelivered: .shutDown, uncertain: .shutDown)
    }

    private var report: DrainReport {
        let outcomes = self.client.outcomes
        return DrainReport(
            outcomes: outcomes.counts,
            unsettled: self.client.queuedCount + self.client.unsettledCount,
            contradicted: outcomes.contradicted,
            resent: outcomes.resent,
            strayBytes: outcomes.strayBytes
        )
    }

    private func checkDrains() {
        if self.client.isSettled, !self.drains.isEmpty {
            let drains = self.drains
            self.drains = []
            self.complete(drains)
        }
        if self.client.isFinished, !self.isFinished {
            self.isFinished = true
            self.loopEnd?.cancel()
            self.timer?.task.cancel()
            self.timer = nil
            self.events.finish()
            self.stream?.finish()
            self.calls.end(with: self.report)
        }
        if self.isFinished {
            let shutdowns = self.shutdowns
            self.shutdowns = []
            self.complete(shutdowns)
        }
    }

    private func complete(_ drains: [Drain]) {
        for drain in drains {
            drain.deadline.cancel()
            self.calls.answer(drain.call, with: self.report)
        }
    }

    private func log(_ event: ProviderEvent) {
        switch event {
        case .connected(let id, let open):
            self.logger.debug("connected", metadata: ["apns.connection": "\(id.rawValue)", "apns.open": "\(open)"])
        case .disconnected(let id, let open):
            self.logger.debug("disconnected", metadata: ["apns.connection": "\(id.rawValue)", "apns.open": "\(open)"])
        case .socketError(let id, let error):
            self.logger.debug(
                "connection failed",
                metadata: ["apns.connection": "\(id.rawValue)", "apns.error": "\(error)"]
            )
        case .error(let error):
            self.logger.debug("provider failed", metadata: ["apns.error": "\(error)"])
        case .resent(let count, _):
            self.logger.debug("sending again", metadata: ["apns.count": "\(count)"])
        case .transmissionError(let rejection, _, _, _):
            self.logger.debug("rejected", metadata: ["apns.reason": "\(rejection.reason)"])
        case .contradicted(let contradiction):
            self.logger.debug("outcomes contradicted", metadata: ["apns.count": "\(contradiction.count)"])
        default:
            break
        }
    }
}
