package import NIOCore

/// One reading of the feedback list, without I/O. Bytes, ends and time go in. Tuples, a verdict and a deadline come
/// out.
///
/// ```
///        start             opened           pause
///  idle ───────▶ connecting ───────▶ reading ◀─────▶ paused
///   │                │                  │    resume    │
///   └────────────────┴──────────────────┴───────┬──────┘
///                                               ▼ an end, a deadline, a cancellation
///                                             ended
/// ```
///
/// Time counts only while the machine waits for the service, so a reader that pauses cannot cause a time-out.
package struct FeedbackMachine: Sendable {
    /// The time that the service gets.
    package struct Limits: Sendable {
        /// The time from ``FeedbackMachine/start(now:)`` to ``FeedbackMachine/opened(now:)``.
        package var connect: TimeAmount
        /// The longest time without a byte.
        package var idle: TimeAmount
        /// The time from the first read to the end, without pauses.
        package var sweep: TimeAmount

        package init(connect: TimeAmount, idle: TimeAmount, sweep: TimeAmount) {
            self.connect = connect
            self.idle = idle
            self.sweep = sweep
        }
    }

    /// The limit of ``Limits`` that was passed.
    package enum Deadline: Hashable, Sendable {
        case connect, idle, sweep
    }

    private enum State {
        case idle
        case connecting(since: NIODeadline)
        case reading(since: NIODeadline, lastBytes: NIODeadline)
        case paused
        case ended
    }

    private let limits: Limits
    private var state = State.idle
    private var decoder = FeedbackDecoder()
    /// How long the machine waited for the service before the present stretch of reading.
    private var spent: TimeAmount = .zero
    /// The number of tuples that were returned.
    package private(set) var tuples = 0
    /// The first bytes of the service, while they may belong to another protocol.
    private var opening: ByteBuffer? = ByteBuffer()
    /// The protocol of a service that keeps no feedback list. As a tuple, its first bytes would have an empty token, or
    /// one that is too long.
    package private(set) var foreignProtocol: ForeignProtocol?

    package init(limits: Limits) {
        self.limits = limits
    }

    /// The number of tuples that were left out because their token is not valid.
    package var skipped: Int { self.decoder.skipped }
    /// The number of bytes of an incomplete tuple; after the end of the stream, of a tuple that was cut off.
    package var pendingBytes: Int { self.decoder.pendingBytes }

    package var hasEnded: Bool { if case .ended = self.state { true } else { false } }
    /// Whether TLS is established.
    package var isOpen: Bool {
        switch self.state {
        case .reading, .paused: true
        case .idle, .connecting, .ended: false
        }
    }
    /// Whether the machine wants bytes.
    package var isReading: Bool { if case .reading = self.state { true } else { false } }

    /// Notes that dialling begins.
    package mutating func start(now: NIODeadline) {
        guard case .idle = self.state else { return }
        self.state = .connecting(since: now)
    }

    /// Notes that TLS is established.
    package mutating func opened(now: NIODeadline) {
        guard case .connecting = self.state else { return }
        self.state = .reading(since: now, lastBytes: now)
    }

    /// Takes bytes, even in a pause, because the last bytes can arrive together with the end of the stream.
    package mutating func received(_ bytes: consuming ByteBuffer, now: NIODeadline) -> [FeedbackTuple] {
        guard !self.hasEnded else { return [] }
        if case .reading(let since, _) = self.state { self.state = .reading(since: since, lastBytes: now) }
        self.identify(bytes)
        guard self.foreignProtocol == nil else { return [] }
        self.decoder.append(bytes)
        var tuples: [FeedbackTuple] = []
        while let tuple = self.decoder.next() { tuples.append(tuple) }
        self.tuples += tuples.count
        return tuples
    }

    private mutating func identify(_ bytes: ByteBuffer) {
        guard var opening = self.opening.take() else { return }
        let missing = ForeignProtocol.decisiveLength - opening.readableBytes
        opening.writeBytes(bytes.readableBytesView.prefix(missing))
        self.foreignProtocol = ForeignProtocol(opening)
        if opening.readableBytes < ForeignProtocol.decisiveLength { self.opening = opening }
    }

    /// Notes that the reader takes no tuples now.
    package mutating func pause(now: NIODeadline) {
        guard case .reading(let since, _) = self.state else { return }
        self.spent = self.spent + (now - since)
        self.state = .paused
    }

    /// Notes that the reader takes tuples again.
    package mutating func resume(now: NIODeadline) {
        guard case .paused = self.state else { return }
        self.state = .reading(since: now, lastBytes: now)
    }

    /// Ends the reading for any reason. Returns false when it had ended before.
    package mutating func end() -> Bool {
        guard !self.hasEnded else { return false }
        self.state = .ended
        return true
    }

    /// When to call ``passedDeadline(now:)``; nil while the machine does not wait.
    package var nextDeadline: NIODeadline? { self.due?.time }

    /// Returns the limit that was passed, if any.
    package func passedDeadline(now: NIODeadline) -> Deadline? {
        guard let due = self.due, due.time <= now else { return nil }
        return due.deadline
    }

    private var due: (time: NIODeadline, deadline: Deadline)? {
        switch self.state {
        case .idle, .paused, .ended:
            return nil
        case .connecting(let since):
            return (since + self.limits.connect, .connect)
        case .reading(let since, let lastBytes):
            let idle = lastBytes + self.limits.idle
            let sweep = since + (self.limits.sweep - self.spent)
            return sweep < idle ? (sweep, .sweep) : (idle, .idle)
        }
    }
}
