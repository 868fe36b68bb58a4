package import FerryCore
package import FerryPlatform
internal import Logging

/// Takes a device that no longer has the app, and since when, if APNs says it. Called on the provider's event loop, before the
/// outcome of the notification is delivered. Must not block.
package typealias GoneDeviceSink = @Sendable (DeviceToken, Date?) -> Void

/// The common part of a provider's event loops: the way in, the way out, and the numbers of the whole.
///
/// ```
///   callers ──▶ queue ──▶ driver of loop 0 ──▶ outcomes, events ──▶ callers
///                   └───▶ driver of loop 1 ──▶ ┘
/// ```
///
/// To callers the loops are one provider. Any thread may use it.
final class ProviderCommons: Sendable {
    /// The last report of a loop about itself.
    struct Numbers {
        var outcomes = OutcomeCounts()
        /// Without an outcome.
        var unsettled = 0
        var contradicted = 0
        var resent = 0
        var strayBytes = 0
        var unproved: Unproved?
        /// The awaited notifications that were not delivered, or of which nobody knows.
        var awaitedLosses = 0
        /// The notifications that the peer accepted, or rejected for their own sake.
        var answered = 0
        /// The trouble since the peer last answered this loop.
        var trouble: ProviderError?
    }

    private struct State {
        var numbers: [Numbers]
        /// The trouble since the peer last answered any loop.
        var trouble: ProviderError?
        /// The last trouble of the provider's life.
        var lastError: ProviderError?
        /// The loops whose driver has not ended.
        var living: LoopSet
    }

    let loops = ProviderLoops()
    let queue: SubmissionQueue
    let awaited = AwaitedOutcomes()
    let calls: ReportCalls
    let events: EventHub
    /// The buffer of the outcome stream. Nil if outcomes go elsewhere.
    let stream: OutcomeBuffer?
    /// The merger for the observer; nil without an observer, and nothing is counted then.
    let observer: ObserverMerger?
    /// The watch of device moves; nil if the provider has one protocol.
    let moves: MoveWatch?
    /// The topic of notifications over HTTP/2 without one, if the provider has two protocols.
    private let topic: String?
    /// Gets each device that APNs over HTTP/2 calls gone.
    private let goneDevices: GoneDeviceSink?
    /// Whether only the counts keep the outcomes of batches.
    private let discardsOutcomes: Bool
    /// The number of notifications that may wait to be written, or whose outcomes may wait to be read.
    let queueLimit: Int
    /// The way to the sink. Nil if outcomes go elsewhere.
    private let sink: OutcomeMerger?
    private let state: Locked<State>
    /// The number of open connections.
    private let open = Locked(0)

    init(
        loopCount: Int,
        outcomes: OutcomeDelivery,
        queueLimit: Int,
        observer: (any ProviderObserver)?,
        logger: Logger,
        moves: MoveWatch? = nil,
        topic: String? = nil,
        goneDevices: GoneDeviceSink? = nil
    ) {
        self.moves = moves
        self.topic = topic
        self.goneDevices = goneDevices
        self.queueLimit = max(queueLimit, 1)
        self.queue = SubmissionQueue(limit: self.queueLimit, loopCount: loopCount)
        self.calls = ReportCalls(loopCount: loopCount)
        self.events = EventHub { logger.logSecondReader(of: "events") }
        self.observer = observer.map { ObserverMerger($0, loopCount: loopCount) }
        self.state = Locked(
            State(numbers: Array(repeating: Numbers(), count: loopCount), living: LoopSet(first: loopCount))
        )
        if case .discard = outcomes { self.discardsOutcomes = true } else { self.discardsOutcomes = false }
        if case .sink(let sink) = outcomes { self.sink = OutcomeMerger(sink) } else { self.sink = nil }
        if case .stream = outcomes {
            let loops = self.loops
            self.stream = OutcomeBuffer {
                logger.logSecondReader(of: "outcomes")
            } wasRead: {
                loops.wakeAll()
            }
        } else {
            self.stream = nil
        }
    }

    // MARK: The way out

    /// The number of outcomes that wait for their reader.
    var unreadCount: Int { self.stream?.unreadCount ?? self.sink?.unreadCount ?? 0 }

    /// Whether so many outcomes wait for their reader that nothing more may be written.
    ///
    /// - Parameter loop: the loop that stops. It is woken when outcomes were read.
    func isFull(for loop: Int) -> Bool {
        guard self.unreadCount >= self.queueLimit else { return false }
        return self.sink?.holds(outcomesOf: loop) ?? true
    }

    /// Delivers the outcomes of a loop to the sink or the stream.
    func deliver(_ records: [OutcomeRecord], of loop: Int, isPatient: Bool) {
        self.stream?.append(records)
        if let sink { self.loops.wake(sink.deliver(records, of: loop, isPatient: isPatient)) }
    }

    /// Gives the outcomes of the stream to its waiting reader.
    func wakeReader() {
        // Loops that stopped because there were so many go on.
        if let stream, stream.wakeReader() >= self.queueLimit { self.loops.wakeAll() }
    }

    /// Whether outcomes of the loop have not reached the sink. The loop is woken when they have.
    func holds(outcomesOf loop: Int) -> Bool { self.sink?.holds(outcomesOf: loop) ?? false }

    /// Sends an event of a loop to the subscribers, as an event of the whole.
    ///
    /// - Parameter isBusy: whether the loop has notifications without an outcome.
    func send(_ event: ProviderEvent, of side: ProviderSide?, from loop: Int, isBusy: Bool) {
        switch event {
        case .connected(let id, _):
            self.send(opened: 1, of: side) { .connected(id, open: $0) }
        case .disconnected(let id, _):
            self.send(opened: -1, of: side) { .disconnected(id, open: $0) }
        case .completed:
            if self.queue.completed(loop, isBusy: isBusy) { self.events.send(event, of: side) }
        case .migration(.moved):
            self.moves?.moved()
        case .transmissionError(let rejection, _, let notification, let device?) where rejection.isGone:
            self.goneDevices?(device, rejection.timestamp)
            self.events.send(event, of: side)
            if side != nil { self.tell(gone: device, at: rejection.timestamp, topic: notification?.topic) }
        default:
            self.events.send(event, of: side)
        }
    }

    private func tell(gone device: DeviceToken, at time: Date?, topic: String?) {
        let gone = GoneDevice(token: device, time: time, topic: topic ?? self.topic, side: .http2)
        self.events.send(.migration(.gone(gone)), of: .http2)
    }

    /// Sends an event with the number of open connections under the lock. The last event must have the last number.
    private func send(opened: Int, of side: ProviderSide?, _ event: (Int) -> ProviderEvent) {
        self.open.withLock { open in
            open += opened
            self.events.send(event(open), of: side)
        }
    }

    // MARK: The numbers of the whole

    func publish(_ numbers: Numbers, of loop: Int) {
        self.state.withLock { state in
            let before = state.numbers[loop]
            state.numbers[loop] = numbers
            if before.answered != numbers.answered || before.trouble != numbers.trouble {
                state.trouble = numbers.trouble
            }
        }
    }

    func noteError(_ error: ProviderError) { self.state.withLock { $0.lastError = error } }

    var counts: OutcomeCounts {
        self.state.withLock { state in
            state.numbers.reduce(into: OutcomeCounts()) { $0.add($1.outcomes) }
        }
    }

    /// The trouble since the peer last accepted or rejected a notification.
    var trouble: ProviderError? { self.state.withLock { $0.trouble } }

    /// Returns the report of all loops.
    ///
    /// - Parameter late: the loops whose notifications without an outcome count. Others may have got new ones since.
    func report(unsettledOf late: LoopSet) -> DrainReport {
        self.state.withLock { state in
            var report = DrainReport(outcomes: OutcomeCounts(), unsettled: 0, contradicted: 0, resent: 0)
            for (loop, numbers) in state.numbers.enumerated() {
                report.outcomes.add(numbers.outcomes)
                if late.contains(loop) { report.unsettled += numbers.unsettled }
                report.contradicted += numbers.contradicted
                report.resent += numbers.resent
                report.strayBytes += numbers.strayBytes
                if let unproved = numbers.unproved {
                    report.unproved = Unproved(
                        count: (report.unproved?.count ?? 0) + unproved.count,
                        cause: unproved.cause
                    )
                }
            }
            report.lastError = state.lastError
            return report
        }
    }

    /// Whether notifications were lost of which no sink, stream or caller heard.
    var hasUnheardLosses: Bool {
        self.state.withLock { state in
            let losses = state.numbers.reduce(0) {
                $0 + $1.outcomes.undelivered + $1.outcomes.uncertain - $1.awaitedLosses
            }
            return self.discardsOutcomes && losses > 0
        }
    }

    // MARK: The end

    /// Notes that the driver of a loop has ended. Returns whether it was the last one.
    func ended(_ loop: Int) -> Bool {
        self.state.withLock { state in
            state.living.remove(loop)
            return state.living.isEmpty
        }
    }

    /// Ends the streams of callers. Every later call gets `report` at once.
    func finish(_ report: DrainReport) {
        self.events.finish()
        self.stream?.finish()
        self.calls.end(with: report)
    }
}

extension Rejection {
    /// Whether APNs over HTTP/2 says that the app is gone from the device: status 410 ("Handling notification responses from
    /// APNs", Apple).
    fileprivate var isGone: Bool { self.origin == .apns && self.status == 410 }
}
