internal import FerryCore
internal import FerryMachine
internal import Logging
internal import NIOCore

/// Runs a ``ProviderMachine`` on an event loop: carries out its steps, and delivers its outcomes and events.
///
/// `@unchecked Sendable`: other threads use only the members that ``ProviderLoop`` lists for any thread. Those are
/// Sendable and set once, in `init`. Everything else is used on the event loop only.
final class ProviderDriver<Machine: ProviderMachine & ~Copyable>: ProviderLoop, @unchecked Sendable {
    /// The settings of a driver that do not depend on its protocol.
    struct Options {
        var logger: Logger
        /// The source of provider tokens. Nil if the provider uses a certificate.
        var tokens: ProviderTokenSource?
        /// The right to send.
        var right = ForwardingRight.endless
        /// Called at the end of each turn of the event loop, with the machine.
        var turnEnded: ((borrowing Machine) -> Void)?
        /// Whether to poll the socket for a moment before the event loop sleeps, while one answer holds up all
        /// progress.
        var looksBeforeSleeping = false
        /// How long notifications wait for a connection.
        var patience: Patience
    }

    /// The shortest timer. Timers closer together than this become one.
    private static var timerResolution: TimeAmount { .microseconds(100) }
    /// Above this queue length outcomes come in numbers. The stream's reader is then woken once for many of them.
    private static var busyQueue: Int { 256 }
    /// The reader is woken for this many outcomes, or this time after the first.
    private static var readerBatch: Int { 128 }
    private static var readerDelay: TimeAmount { .milliseconds(5) }
    /// How often queued notifications look for the right to send.
    private static var rightInterval: TimeAmount { .milliseconds(50) }
    /// The longest time that unread bytes delay a deadline. A peer may never stop sending.
    private static var readLimit: TimeAmount { .seconds(1) }

    let loop: MachineLoop
    /// The number of this loop among those of the provider.
    let index: Int
    /// The state that this driver shares with the provider's other loops.
    let commons: ProviderCommons
    /// The makers of connections. A provider with two protocols has two peers.
    let connector: (ConnectionID) -> ProviderConnector
    let logger: Logger
    var machine: Machine
    var connections: [ConnectionID: ConnectionHandler] = [:]
    /// The connections that are being made.
    var dials: [ConnectionID: Dial] = [:]
    var endings = DriverEndings()
    private var bytes = ByteBuffer()
    private var given = GivenOutcomes()
    /// The time at which the stream's reader is woken for outcomes that wait for others.
    private var wakesReaderAt: NIODeadline?
    /// The time until which the deadlines of silent connections wait for unread bytes; nil if they do not wait.
    private var readsUntil: NIODeadline?
    private var tokens: TokenDesk?
    /// The meter for the observer; nil without an observer, and nothing is counted then.
    private var meter: ActivityMeter?
    /// The poller; nil if the event loop is shared, because polling would block its other users.
    private var busyPoll: BusyPoll?
    /// The levels of failed connections, and of errors that need a person.
    private var connectionTrouble = TroubleLog()
    private var providerTrouble = TroubleLog()
    private var hasLoggedPause = false
    private let right: ForwardingRight
    /// Whether the right to send was missing in this turn.
    private var isWithoutRight = false
    private let patience: Patience
    private let turnEnded: ((borrowing Machine) -> Void)?

    /// - Parameters:
    ///   - commons: the common part of the provider's drivers. The driver joins it.
    ///   - connector: returns the connector of a connection. The number of the connection shows its protocol.
    init(
        _ machine: consuming Machine,
        on eventLoop: any EventLoop,
        index: Int,
        commons: ProviderCommons,
        connector: @escaping (ConnectionID) -> ProviderConnector,
        options: Options
    ) {
        self.loop = MachineLoop(on: eventLoop)
        self.index = index
        self.commons = commons
        self.connector = connector
        self.machine = machine
        self.meter = commons.observer == nil ? nil : ActivityMeter()
        if self.meter != nil {
            self.machine.outcomes.countCauses()
            self.machine.countPings()
        }
        if commons.observer?.wantsTimes == true { self.machine.measureTimes() }
        self.turnEnded = options.turnEnded
        self.patience = options.patience
        self.right = options.right
        self.logger = options.logger
        self.tokens = options.tokens.map { TokenDesk($0) }
        self.busyPoll = options.looksBeforeSleeping ? BusyPoll() : nil
        commons.loops.append(self)
        self.loop.watchEnd { [weak self] in self?.loopEnded() }
    }

    // MARK: Any thread

    var eventLoop: any EventLoop { self.loop.eventLoop }

    var hasEnded: Bool { self.loop.isOver }

    func wake() { self.loop.execute { self.run() } }

    // MARK: The loop

    /// Carries out all work that is possible now.
    func run() {
        self.loop.run {
            self.collect()
            self.carryOut()
            self.tickIfDue()
            self.carryOut()
            self.write()
            self.carryOut()
            // Before the outcomes: who gets one may ask for its trouble at once.
            self.publishOutcomes()
            self.deliver()
            self.wakeReader()
        } afterwards: {
            self.publish()
            self.schedule()
            self.checkEndings()
            if let id = self.machine.bottleneck, let connection = self.connections[id] {
                self.busyPoll?.wait { connection.hasUnreadBytes }
            }
        }
    }

    private func collect() {
        let delivery = self.commons.queue.collect(for: self.index)
        for run in delivery.runs {
            self.meter?.took(run.count)
            self.machine.submit(run, now: .now)
        }
        if !delivery.withdrawn.isEmpty { self.machine.withdraw(Set(delivery.withdrawn), now: .now) }
    }

    /// Hands the machine a valid provider token, if something could be written with it or the key was replaced.
    private func authorize() {
        if self.machine.needsAuthorization || self.tokens?.isKeyReplaced == true { self.askForToken() }
    }

    /// Tells the machine that the key was replaced. Called before it reads an answer that the old key may have caused.
    func noteReplacedKey() {
        if self.tokens?.isKeyReplaced == true { self.askForToken() }
    }

    private func askForToken() {
        guard let answer = self.tokens?.ask(now: .now) else { return }
        self.machine.authorized(answer.authorization)
        guard let event = answer.event else { return }
        if let error = event.providerError {
            self.machine.failed(error, now: .now)
            // The machine may want to do something about it.
            self.loop.turnAgain()
        }
        // Only a provider with two protocols has sides.
        self.report(SidedEvent(event, side: self.commons.moves == nil ? nil : .http2))
    }

    func refused(_ reason: Reason, _ token: ProviderToken) { self.tokens?.refused(reason, token, now: .now) }

    private func tickIfDue() {
        guard let deadline = self.machine.nextDeadline else { return }
        let now = Moment.now
        if deadline <= now.monotonic, !self.readsFirst(now: now.monotonic) { self.machine.tick(now: now) }
    }

    /// Whether an answer may still lie in a socket about whose silence the machine would decide. The process or the
    /// computer may have slept, or the loop may be slow. Then the event loop reads first, for ``readLimit`` at most.
    private func readsFirst(now: NIODeadline) -> Bool {
        let judged = self.machine.judged(at: now)
        guard judged.contains(where: { self.connections[$0]?.hasUnreadBytes == true }) else {
            self.readsUntil = nil
            return false
        }
        let until = self.readsUntil ?? now + Self.readLimit
        self.readsUntil = now < until ? until : nil
        return now < until
    }

    /// Carries out the machine's steps, and reports its events.
    private func carryOut() {
        var steps = self.machine.takeSteps()
        while !steps.isEmpty {
            for step in steps { self.carryOut(step) }
            steps = self.machine.takeSteps()
        }
        let events = self.machine.takeSidedEvents()
        for event in events { self.report(event, among: events) }
        // After the steps, one of which may say that the token was refused.
        self.authorize()
    }

    /// - Parameter others: events that are reported together with it.
    private func report(_ sided: SidedEvent, among others: [SidedEvent] = []) {
        let event = sided.event
        let level = self.troubleLevel(event, among: others)
        self.logger.log(event, of: sided.side, trouble: level, patience: self.patience.words(sided.side))
        if let error = event.providerError { self.commons.noteError(error) }
        if !self.repeats(event, others) { self.meter?.saw(event) }
        self.commons.send(event, of: sided.side, from: self.index, isBusy: !self.machine.isSettled)
    }

    /// Whether the event is the end of a connection whose error ends the queue, too: one trouble, and two events.
    private func repeats(_ event: ProviderEvent, _ others: [SidedEvent]) -> Bool {
        guard case .socketError(_, let error) = event else { return false }
        return others.contains { if case .error(error) = $0.event { true } else { false } }
    }

    private func troubleLevel(_ event: ProviderEvent, among others: [SidedEvent]) -> Logger.Level {
        switch event {
        case .socketError(_, let error):
            let level = self.connectionTrouble.level(.warning, error, now: .now())
            // The connection's error that ends the queue is logged once, as that of the provider.
            return self.repeats(event, others) ? .debug : level
        case .error(let error): return self.providerTrouble.level(.error, error, now: .now())
        default: return .debug
        }
    }

    /// Logs the end of the provider, with the last trouble unless the log has it already.
    func logEnd(_ report: DrainReport) {
        var report = report
        if let error = report.lastError, self.connectionTrouble.has(error) || self.providerTrouble.has(error) {
            report.lastError = nil
        }
        self.logger.log(
            end: report,
            wasDropped: self.endings.wasDropped,
            hasUnheardLosses: self.commons.hasUnheardLosses
        )
    }

    /// Lets the machine write to each connection in turn, in no fixed order.
    ///
    /// Over HTTP/2 this chooses the connection of a notification: each connection takes from the common queue as many
    /// notifications as it has room for. In the binary protocol, `BinaryClient.distribute` has chosen the lane, and each
    /// lane has its own connection.
    private func write() {
        self.machine.reportsTransmitted = self.commons.events.hasTransmittedSubscribers
        let isFull = self.commons.isFull(for: self.index)
        if isFull, !self.machine.isPaused { self.logPause() }
        self.isWithoutRight = !self.right.isHeld
        self.machine.isPaused = isFull || self.isWithoutRight
        let before = self.machine.unsettledCount
        for connection in self.connections.values {
            self.write(to: connection)
        }
        let written = self.machine.unsettledCount - before
        // The process may have been stopped between the check and the writes.
        if written > 0, !self.right.isEndless, !self.right.isHeld { self.right.noteSent(written) }
    }

    /// Says that a reader is missing or slow: otherwise `submit` would wait without a word.
    private func logPause() {
        self.logger.log(
            level: self.hasLoggedPause ? .debug : .warning,
            "outcomes are not read: nothing more is taken until they are",
            metadata: ["apns.count": "\(self.commons.queueLimit)"]
        )
        self.hasLoggedPause = true
    }

    private func write(to connection: ConnectionHandler) {
        while connection.isWritable {
            self.bytes.clear()
            let now = Moment.now
            guard
                self.machine.write(connection.id, into: &self.bytes, atMost: Machine.chunk(of: connection.id), now: now)
            else { return }
            let end = connection.send(self.bytes)
            self.machine.flushed(connection.id, at: end, now: now)
        }
    }

    private func deliver() {
        // The machine continues with empty arrays, so that a sink may submit while it reads these.
        self.given.exchange(with: &self.machine.outcomes)
        self.commons.deliver(self.given.records, of: self.index, isPatient: self.loop.hasLoopEnded)
        guard !self.given.isEmpty else { return }
        self.commons.awaited.resume(self.given.awaited)
        self.given.removeAll()
    }

    /// Wakes the stream's reader, or lets outcomes wait for more: waking a task costs more than sending a notification.
    private func wakeReader() {
        // A reader that is not waiting finds the outcomes without being woken.
        guard let stream = self.commons.stream, stream.unreadCount > 0, stream.hasReader else {
            return self.wakesReaderAt = nil
        }
        let isBusy = self.machine.queuedCount > Self.busyQueue && stream.unreadCount < Self.readerBatch
        if isBusy, let wakesReaderAt, wakesReaderAt > .now() { return }
        if isBusy, self.wakesReaderAt == nil {
            self.wakesReaderAt = .now() + Self.readerDelay
        } else {
            self.wakesReaderAt = nil
            self.commons.wakeReader()
        }
    }

    private func publishOutcomes() {
        let outcomes = self.machine.outcomes
        self.commons.publish(
            .init(
                outcomes: outcomes.counts,
                unsettled: self.machine.queuedCount + self.machine.unsettledCount,
                contradicted: outcomes.contradicted,
                resent: outcomes.resent,
                strayBytes: outcomes.strayBytes,
                unproved: outcomes.unproved,
                awaitedLosses: outcomes.awaitedLosses,
                answered: outcomes.answered,
                trouble: outcomes.trouble
            ),
            of: self.index
        )
    }

    private func publish() {
        self.turnEnded?(self.machine)
        self.commons.queue.occupy(
            self.index,
            queued: self.machine.queuedCount,
            delayed: self.machine.delayedCount,
            isBusy: !self.machine.isSettled
        ) {
            self.commons.unreadCount
        }
        self.tellObserver()
    }

    /// The outcomes that wait for their reader. After the end none counts, and no turn would tell when it has read.
    private var unreadCount: Int { self.endings.isFinished ? 0 : self.commons.unreadCount }

    func tellObserver() {
        guard let observer = self.commons.observer else { return }
        var standing = ProviderActivity.Standing()
        standing.queued = self.machine.queuedCount
        standing.delayed = self.machine.delayedCount
        standing.unsettled = self.machine.unsettledCount
        standing.unread = self.unreadCount
        standing.connections = self.connections.count
        let pings = self.machine.takePings()
        let times = observer.wantsTimes ? self.machine.takeTimes(until: .now()) : [:]
        let activity = self.meter?.endTurn(&self.machine.outcomes, standing, pings: pings, times: times)
        guard activity != nil || observer.owesCall else { return }
        let owesMore = observer.tell(
            activity,
            of: self.index,
            unread: { self.unreadCount },
            isPatient: self.loop.hasLoopEnded || self.endings.isFinished
        )
        if owesMore { self.wake() }
    }

    private func schedule() {
        var deadline = min(self.machine.nextDeadline ?? .distantFuture, self.wakesReaderAt ?? .distantFuture)
        if self.isWithoutRight, self.machine.queuedCount > 0 { deadline = min(deadline, .now() + Self.rightInterval) }
        guard deadline < .distantFuture, self.loop.needsTimer(by: deadline) else { return }
        self.loop.setTimer(at: max(deadline, .now() + Self.timerResolution)) { self.run() }
    }
}
