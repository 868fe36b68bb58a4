internal import FerryCore
internal import FerryMachine
internal import Logging
internal import NIOCore

/// Runs a ``ProviderWire`` on an event loop: carries out its steps, and delivers what it gives.
///
/// `@unchecked Sendable`: everything but `eventLoop`, `queue`, `calls` and `events` is touched on the event loop only.
final class ProviderDriver<Wire: ProviderWire & ~Copyable>: @unchecked Sendable {
    /// How a driver behaves, whatever the wire.
    struct Options {
        var eventLoopGroup: any EventLoopGroup
        var outcomes: OutcomeDelivery
        /// How many notifications may wait to be written, or for their outcome to be read.
        var queueLimit: Int
        var logger: Logger
    }

    /// How many bytes go to TLS at a time: six records.
    static var chunk: Int { 96 << 10 }
    /// Timers closer than this are one timer.
    private static var timerResolution: TimeAmount { .microseconds(100) }
    /// While more than this is queued, outcomes are on their way in numbers, and the stream's reader is woken for many.
    private static var busyQueue: Int { 256 }
    /// So many outcomes wake the reader at any rate, and so long they wait for others at most.
    private static var readerBatch: Int { 128 }
    private static var readerDelay: TimeAmount { .milliseconds(5) }

    let eventLoop: any EventLoop
    let events = EventHub()
    let queue: SubmissionQueue
    let calls = ReportCalls()
    /// Set once, in `init`.
    private(set) var stream: OutcomeBuffer?
    let connector: ProviderConnector
    let logger: Logger
    var wire: Wire
    var connections: [ConnectionID: ConnectionHandler] = [:]
    /// Connections that are being made.
    var dials: [ConnectionID: Dial] = [:]
    var endings = DriverEndings()
    /// Never due: it is dropped when the event loop ends. Set once, in `init`.
    private(set) var loopEnd: NIOScheduledCallback?
    /// Whether the loop runs nothing any more, so that any thread may do what is left.
    var hasLoopEnded = false
    private let sink: (any OutcomeSink)?
    private let queueLimit: Int
    private var bytes = ByteBuffer()
    private var given = GivenOutcomes()
    private var timer: (deadline: NIODeadline, task: Scheduled<Void>)?
    /// When the stream's reader is woken for what it was not woken for yet.
    private var wakesReaderAt: NIODeadline?
    private var busyPoll = BusyPoll()
    private var isRunning = false
    private var runsAgain = false

    init(_ wire: consuming Wire, connector: ProviderConnector, options: Options) {
        self.eventLoop = options.eventLoopGroup.next()
        self.connector = connector
        self.wire = wire
        self.queueLimit = max(options.queueLimit, 1)
        self.logger = options.logger
        if case .sink(let sink) = options.outcomes { self.sink = sink } else { self.sink = nil }
        self.queue = SubmissionQueue(limit: self.queueLimit)
        if case .stream = options.outcomes {
            self.stream = OutcomeBuffer { [weak self] in self?.wake() }
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
            self.wakeReader()
        } while self.runsAgain
        self.isRunning = false
        self.publish()
        self.schedule()
        self.checkEndings()
        if let id = self.wire.bottleneck, let connection = self.connections[id] {
            self.busyPoll.wait { connection.hasUnreadBytes }
        }
    }

    private func collect() {
        let delivery = self.queue.collect()
        for run in delivery.runs { self.wire.submit(run, now: .now) }
        if !delivery.withdrawn.isEmpty {
            self.wire.withdraw(Set(delivery.withdrawn.map(\.tag)), now: .now)
        }
    }

    private func tickIfDue() {
        guard let deadline = self.wire.nextDeadline else { return }
        let now = Moment.now
        if deadline <= now.monotonic { self.wire.tick(now: now) }
    }

    private func carryOut() {
        var steps = self.wire.takeSteps(now: .now)
        while !steps.isEmpty {
            for step in steps { self.carryOut(step) }
            steps = self.wire.takeSteps(now: .now)
        }
        for event in self.wire.takeEvents() {
            self.logger.log(event)
            self.events.send(event)
        }
    }

    private func write() {
        self.wire.reportsTransmitted = self.events.hasTransmittedSubscribers
        self.wire.isPaused = (self.stream?.unreadCount ?? 0) >= self.queueLimit
        for connection in self.connections.values {
            self.write(to: connection)
        }
    }

    private func write(to connection: ConnectionHandler) {
        while connection.isWritable {
            self.bytes.clear()
            let now = Moment.now
            guard self.wire.write(connection.id, into: &self.bytes, atMost: Self.chunk, now: now) else { return }
            let end = connection.send(self.bytes)
            self.wire.flushed(connection.id, at: end, now: now)
        }
    }

    private func deliver() {
        // The machine goes on with empty arrays of its own, so that a sink may submit.
        self.wire.takeOutcomes(&self.given)
        guard !self.given.isEmpty else { return }
        if !self.given.records.isEmpty {
            self.sink?.settled(self.given.records.span)
            self.stream?.append(self.given.records)
        }
        for record in self.given.awaited { AwaitedOutcome.resume(record.tag.rawValue, with: record.outcome) }
        self.given.removeAll()
    }

    /// Wakes the stream's reader, or lets outcomes wait for others: to wake a task costs more than a notification.
    private func wakeReader() {
        // Who comes while outcomes are there takes them without being woken.
        guard let stream, stream.unreadCount > 0, stream.hasReader else { return self.wakesReaderAt = nil }
        let isBusy = self.wire.queuedCount > Self.busyQueue && stream.unreadCount < Self.readerBatch
        if isBusy, let wakesReaderAt, wakesReaderAt > .now() { return }
        if isBusy, self.wakesReaderAt == nil {
            self.wakesReaderAt = .now() + Self.readerDelay
        } else {
            self.wakesReaderAt = nil
            stream.wakeReader()
        }
    }

    private func publish() {
        self.queue.occupy(
            queued: self.wire.queuedCount,
            delayed: self.wire.delayedCount,
            unread: self.stream?.unreadCount ?? 0
        )
    }

    private func schedule() {
        let deadline = min(self.wire.nextDeadline ?? .distantFuture, self.wakesReaderAt ?? .distantFuture)
        guard deadline < .distantFuture, !self.endings.isFinished, !self.hasLoopEnded else { return }
        if let timer, timer.deadline <= deadline { return }
        self.timer?.task.cancel()
        let at = max(deadline, .now() + Self.timerResolution)
        let task = self.eventLoop.assumeIsolated().scheduleTask(deadline: at) {
            self.timer = nil
            self.run()
        }
        self.timer = (at, task)
    }

    func stopTimer() {
        self.timer?.task.cancel()
        self.timer = nil
    }
}
