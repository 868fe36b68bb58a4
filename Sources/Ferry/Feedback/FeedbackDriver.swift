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
/// `@unchecked Sendable`: other threads use only `buffer`, `hasStarted` and constants. Everything else is used on the
/// event loop only.
final class FeedbackDriver: @unchecked Sendable {
    /// The size of one read: one TLS record.
    private static let chunk = 16 << 10
    /// The size of the system's receive buffer. Linux doubles it for its own bookkeeping.
    private static let receiveLimit = 256 << 10

    let buffer: FeedbackBuffer
    private let loop: MachineLoop
    private let connector: TLSConnector
    private let logger: Logger
    private let limits: (idle: Duration, sweep: Duration)
    private let hasStarted = Atomic<Bool>(false)
    private var machine: FeedbackMachine
    /// The dial, while the connection is being made.
    private var dial: Dial?
    private var connection: FeedbackConnectionHandler?
    /// Whether the buffer had room after the last read.
    private var hasRoom = true

    /// - Parameter onNews: called on any thread after tuples or the end came.
    init(
        _ configuration: FeedbackConfiguration,
        connector: TLSConnector,
        onNews: @escaping @Sendable () -> Void = {}
    ) {
        self.buffer = FeedbackBuffer(limit: configuration.bufferLimit, onNews: onNews)
        self.loop = MachineLoop(on: configuration.eventLoopGroup.next())
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
        self.loop.watchEnd { [weak self] in
            self?.fail(.connectionLost, "The event loop has ended before the feedback list was read.")
        }
    }

    // MARK: Any thread

    /// Connects, on the first call only.
    func start() {
        guard !self.hasStarted.exchange(true, ordering: .relaxed) else { return }
        self.loop.execute { self.connect() }
    }

    func cancel() {
        self.loop.execute {
            self.fail(.cancelled, "Reading the feedback list of \(self.connector.peer) was cancelled.")
        }
    }

    /// Continues reading after tuples were taken.
    func resume() {
        self.loop.execute {
            self.hasRoom = true
            self.machine.resume(now: .now())
            self.schedule()
            if self.machine.isReading { self.connection?.read() }
        }
    }

    // MARK: The loop

    private func connect() {
        guard !self.machine.hasEnded else { return }
        self.logger.debug("reading feedback", metadata: ["apns.peer": "\(self.connector.peer)"])
        self.machine.start(now: .now())
        self.schedule()
        let allocator = FixedSizeRecvByteBufferAllocator(capacity: Self.chunk)
        let (connector, eventLoop) = (self.connector, self.loop.eventLoop)
        let dial = Dial(
            connector,
            {
                connector.bootstrap(on: eventLoop)
                    .channelOption(.autoRead, value: false)
                    // Without this, NIO would close the channel itself, and the service's end of the stream would look
                    // like ours.
                    .channelOption(.allowRemoteHalfClosure, value: true)
                    .channelOption(.maxMessagesPerRead, value: 1)
                    .channelOption(.recvAllocator, value: allocator)
                    .channelOption(.socketOption(.so_rcvbuf), value: .init(Self.receiveLimit))
            },
            on: eventLoop,
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
        guard let foreign = self.machine.foreignProtocol else { return }
        self.fail(
            .notFeedback,
            "\(self.connector.peer) is no feedback service: it speaks \(foreign). Check host and port. Over HTTP/2 there is "
                + "no feedback list: APNs answers a push to a device that is gone with status 410."
        )
    }

    func readCompleted() {
        if self.hasRoom {
            self.connection?.read()
        } else {
            self.machine.pause(now: .now())
        }
        self.schedule()
    }

    /// Ends the reading after the connection has ended by itself.
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

    /// Ends the reading. Only the first call has an effect.
    private func finish(_ result: Result<FeedbackReport, FeedbackError>) {
        guard self.machine.end() else { return }
        self.loop.end()
        self.dial?.cancel()
        self.dial = nil
        let connection = self.connection
        self.connection = nil
        switch result {
        case .success(let report):
            // The handler closes the connection and answers with close_notify.
            self.logger.debug("read feedback", metadata: ["apns.count": "\(report.tuples)"])
        case .failure(let error):
            connection?.abort()
            self.logger.warning("feedback failed", metadata: ["apns.error": "\(error)"])
        }
        self.buffer.finish(result)
    }

    // MARK: Time

    private func schedule() {
        guard let deadline = self.machine.nextDeadline else { return self.loop.stopTimer() }
        if self.loop.needsTimer(by: deadline) { self.loop.setTimer(at: deadline) { self.timePassed() } }
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
