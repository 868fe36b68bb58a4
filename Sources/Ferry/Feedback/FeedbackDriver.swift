internal import FerryBinary
internal import FerryCore
internal import FerryMachine
internal import FerryOpenSSL
internal import Logging
internal import NIOCore
internal import NIOPosix
internal import Synchronization

/// Runs a ``FeedbackMachine`` on an event loop: one reading of the list, from the dial to the end.
///
/// `@unchecked Sendable`: everything but `buffer`, `hasStarted` and what never changes is touched on the event loop only.
final class FeedbackDriver: @unchecked Sendable {
    /// How much is read at a time: a record of TLS.
    private static let chunk = 16 << 10
    /// What the system may receive before it is read. Linux takes it twice, for its own account of it.
    private static let receiveLimit = 256 << 10

    let buffer: FeedbackBuffer
    private let eventLoop: any EventLoop
    private let connector: TLSConnector
    private let logger: Logger
    private let limits: (idle: Duration, sweep: Duration)
    private let hasStarted = Atomic<Bool>(false)
    private var machine: FeedbackMachine
    /// The connection while it is being made.
    private var dial: Dial?
    private var connection: FeedbackConnectionHandler?
    /// Whether the buffer had room after what was read last.
    private var hasRoom = true
    private var timer: Scheduled<Void>?
    /// Never due: it is dropped when the event loop ends. Set once, in `init`.
    private var loopEnd: NIOScheduledCallback?

    init(_ configuration: FeedbackConfiguration, connector: TLSConnector) {
        self.buffer = FeedbackBuffer(limit: configuration.bufferLimit)
        self.eventLoop = configuration.eventLoopGroup.next()
        self.connector = connector
        self.logger = configuration.logger
        self.limits = (configuration.idleTimeout, configuration.sweepTimeout)
        self.machine = FeedbackMachine(
            limits: .init(
                connect: connector.connectTimeout,
                idle: TimeAmount(configuration.idleTimeout),
                sweep: TimeAmount(configuration.sweepTimeout)
            )
        )
        let watch = LoopWatch { [weak self] in
            self?.fail(.connectionLost, "The event loop has ended before the feedback list was read.")
        }
        self.loopEnd = try? self.eventLoop.scheduleCallback(at: .distantFuture, handler: watch)
    }

    // MARK: Any thread

    /// Connects, if that was not done before.
    func start() {
        guard !self.hasStarted.exchange(true, ordering: .relaxed) else { return }
        self.execute { self.connect() }
    }

    func cancel() {
        self.execute {
            self.fail(.cancelled, "Reading the feedback list of \(self.connector.peer) was cancelled.")
        }
    }

    /// Tuples were taken: there is room for more.
    func resume() {
        self.execute {
            self.hasRoom = true
            self.machine.resume(now: .now())
            self.schedule()
            if self.machine.isReading { self.connection?.read() }
        }
    }

    /// Does something on the loop, unless the reading is over: the loop may have ended before it.
    private func execute(_ body: @escaping @Sendable () -> Void) {
        guard self.buffer.result == nil else { return }
        self.eventLoop.execute(body)
    }

    // MARK: The loop

    private func connect() {
        guard !self.machine.hasEnded else { return }
        self.logger.debug("reading feedback", metadata: ["apns.peer": "\(self.connector.peer)"])
        self.machine.start(now: .now())
        self.schedule()
        let allocator = FixedSizeRecvByteBufferAllocator(capacity: Self.chunk)
        let bootstrap = self.connector.bootstrap(on: self.eventLoop)
            .channelOption(.autoRead, value: false)
            // The service's end of the stream is told apart from ours.
            .channelOption(.allowRemoteHalfClosure, value: true)
            .channelOption(.maxMessagesPerRead, value: 1)
            .channelOption(.recvAllocator, value: allocator)
            .channelOption(.socketOption(.so_rcvbuf), value: .init(Self.receiveLimit))
        let connector = self.connector
        let dial = Dial(
            connector,
            bootstrap,
            on: self.eventLoop,
            logger: self.logger,
            prepare: { channel in
                let tls = try connector.makeHandler()
                try channel.pipeline.syncOperations.addHandler(tls)
                return Dial.Stack(tls: tls)
            },
            completion: { self.dialed($0) }
        )
        self.dial = dial
        dial.start()
    }

    private func dialed(_ result: Dial.Result) {
        self.dial = nil
        switch result {
        case .established(let channel, let stack): self.opened(channel, stack.tls)
        case .failed(.credentialsRejected(let error)), .failed(.notConnected(let error)), .failed(.lost(let error)):
            self.finish(.failure(FeedbackError(error, report: self.report)))
        case .failed(.endOfStream): self.notConnected(ChannelError.eof)
        }
    }

    private func notConnected(_ error: any Error) {
        self.finish(.failure(FeedbackError(self.connector.error(error), report: self.report)))
    }

    private func opened(_ channel: any Channel, _ tls: TLSHandler) {
        guard !self.machine.hasEnded else { return channel.close(promise: nil) }
        let connection = FeedbackConnectionHandler(driver: self, tls: tls)
        do {
            try channel.pipeline.syncOperations.addHandler(connection)
        } catch {
            channel.close(promise: nil)
            return self.notConnected(error)
        }
        self.connection = connection
        self.machine.opened(now: .now())
        self.schedule()
        connection.read()
    }

    func received(_ bytes: ByteBuffer) {
        self.hasRoom = self.buffer.append(self.machine.received(bytes, now: .now()))
    }

    func readCompleted() {
        if self.hasRoom {
            self.connection?.read()
        } else {
            self.machine.pause(now: .now())
        }
        self.schedule()
    }

    /// The connection ended by itself.
    func ended(_ ending: FeedbackReport.Ending, on connection: FeedbackConnectionHandler) {
        var report = self.report
        if let refusal = self.connector.refusal(
            connection.error,
            version: connection.version,
            hasReceived: connection.hasReceived
        ) {
            return self.finish(.failure(FeedbackError(refusal, report: report)))
        }
        if ending == .unfinished {
            let lost = self.connector.lost(connection.error ?? EventLoopError.shutdown)
            return self.finish(.failure(FeedbackError(lost, report: report)))
        }
        report.ending = ending
        guard report.truncatedBytes == 0 else {
            let message = "\(self.connector.peer) ended the feedback list in the middle of a tuple, which is lost."
            return self.finish(.failure(FeedbackError(.truncated, message, report: report)))
        }
        self.finish(.success(report))
    }

    private func fail(_ code: FeedbackError.Code, _ message: String) {
        self.finish(.failure(FeedbackError(code, message, report: self.report)))
    }

    private var report: FeedbackReport {
        FeedbackReport(
            tuples: self.machine.tuples,
            skipped: self.machine.skipped,
            truncatedBytes: self.machine.pendingBytes
        )
    }

    /// Ends the reading; the first end counts.
    private func finish(_ result: Result<FeedbackReport, FeedbackError>) {
        guard self.machine.end() else { return }
        self.timer?.cancel()
        self.timer = nil
        self.loopEnd?.cancel()
        self.dial?.cancel()
        self.dial = nil
        let connection = self.connection
        self.connection = nil
        switch result {
        case .success(let report):
            // The handler closes, with a close_notify of its own.
            self.logger.debug("read feedback", metadata: ["apns.count": "\(report.tuples)"])
        case .failure(let error):
            connection?.abort()
            self.logger.debug("feedback failed", metadata: ["apns.error": "\(error)"])
        }
        self.buffer.finish(result)
    }

    // MARK: Time

    private func schedule() {
        self.timer?.cancel()
        self.timer = nil
        guard let deadline = self.machine.nextDeadline else { return }
        self.timer = self.eventLoop.assumeIsolated().scheduleTask(deadline: deadline) {
            self.timer = nil
            self.timePassed()
        }
    }

    private func timePassed() {
        let peer = self.connector.peer
        switch self.machine.passedDeadline(now: .now()) {
        case nil:
            self.schedule()
        case .connect:
            self.dial?.expire()
        case .idle:
            self.fail(
                .notClosed,
                "\(peer) said nothing for \(self.limits.idle) and did not end the feedback list; there may be more."
            )
        case .sweep:
            self.fail(
                .sweepTimeout,
                "\(peer) did not end the feedback list within \(self.limits.sweep); there may be more."
            )
        }
    }
}
