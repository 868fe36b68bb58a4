internal import FerryCore
internal import FerryPlatform
internal import NIOCore

/// A writer that appends devices to a ``FeedbackFile`` on its own thread. A disk that hangs must not stop an event
/// loop.
///
/// A line is in the file, or counts as lost, before its outcome is reported; only ``tell(_:)`` reports outcomes
/// earlier. So the outcomes of a provider pass through the writer, and wait behind the lines that came before them.
///
/// ```
///   event loop ── line ───▶ ┌───────┐
///                           │ queue │ ──▶ thread ──▶ file
///   event loop ── outcomes ▶└───────┘        └─────▶ sink
///        └───────────── if the queue is empty ──────▶
/// ```
///
/// The thread lives while the queue has items. Outcomes go directly to the sink only if the thread has ended, too.
///
/// The queue accepts everything, because an event loop can neither wait nor drop an outcome. A ``Handle`` takes no
/// notifications while ``limit`` lines and outcomes wait. So the queue has at most ``limit`` of them, plus those of
/// notifications that the provider already had.
final class FeedbackWriter: Sendable {
    private enum Item {
        case line([UInt8])
        case outcomes([OutcomeRecord], any OutcomeSink)

        /// The number of lines and outcomes in the item.
        var count: Int {
            switch self {
            case .line: 1
            case .outcomes(let records, _): records.count
            }
        }
    }

    private struct State {
        var items = CircularBuffer<Item>()
        /// The number of lines and outcomes in ``items``.
        var count = 0
        var isRunning = false
        /// The functions that wake handles which wait for room.
        var waiters: [@Sendable () -> Void] = []

        var isIdle: Bool { !self.isRunning && self.items.isEmpty }

        mutating func append(_ item: Item) {
            self.items.append(item)
            self.count += item.count
        }

        mutating func take() -> Item? {
            guard let item = self.items.popFirst() else {
                // The buffer is replaced, because it may have grown large while a disk hung.
                self.items = CircularBuffer()
                self.isRunning = false
                return nil
            }
            self.count -= item.count
            return item
        }

        /// Removes and returns the waiting outcomes that `isWanted` selects.
        mutating func takeOutcomes(_ isWanted: (PushTag) -> Bool) -> [([OutcomeRecord], any OutcomeSink)] {
            var taken: [([OutcomeRecord], any OutcomeSink)] = []
            let waiting = self.items
            self.items = CircularBuffer()
            self.count = 0
            for item in waiting {
                guard case .outcomes(let records, let sink) = item else {
                    self.append(item)
                    continue
                }
                let wanted = records.filter { isWanted($0.tag) }
                if !wanted.isEmpty { taken.append((wanted, sink)) }
                let others = wanted.count == records.count ? [] : records.filter { !isWanted($0.tag) }
                if !others.isEmpty { self.append(.outcomes(others, sink)) }
            }
            return taken
        }

        /// Removes and returns the waiters once half of the queue is free. Then each waiter finds room for many
        /// notifications.
        mutating func takeWaiters() -> [@Sendable () -> Void] {
            guard self.count <= FeedbackWriter.limit / 2 else { return [] }
            defer { self.waiters = [] }
            return self.waiters
        }
    }

    /// The next step of the thread.
    private enum Step {
        case write([UInt8])
        case goOn
        case end
    }

    /// The number of waiting lines and outcomes at which a handle takes no more notifications.
    static let limit = 65_536
    /// The longest time that the end of a handle or of the process waits for the file, in milliseconds.
    static let patience: Int64 = 1000

    /// The writers whose thread is running.
    private nonisolated(unsafe) static var busy = Monitor<[ObjectIdentifier: FeedbackWriter]>([:])

    private let append: @Sendable ([UInt8]) -> Void
    private let state = Monitor(State())
    /// The lock that is held while outcomes go from the queue to their sinks. Without this lock, an outcome would for
    /// a moment be neither in the queue nor in its sink, and a close would miss it.
    private let telling = Monitor(())
    private let lost: @Sendable () -> Int

    convenience init(_ file: FeedbackFile) {
        self.init {
            file.append($0)
        } lost: {
            file.lostCount
        }
    }

    /// - Parameters:
    ///   - append: writes a line, and waits for the disk. The process may fork meanwhile, and its child would inherit a
    ///     lock that is held. So the function takes no lock of the Swift runtime.
    ///   - lost: returns the number of lines that could not be written.
    init(_ append: @escaping @Sendable ([UInt8]) -> Void, lost: @escaping @Sendable () -> Int = { 0 }) {
        self.append = append
        self.lost = lost
    }

    /// The number of devices that could not be written, for example because the disk was full.
    var lostCount: Int { self.lost() }

    /// Puts a line into the queue. Waits for the disk only if the system has no thread left.
    func add(_ device: DeviceToken, goneSince date: Date?) {
        // The line is made here, because a fork waits for event loops but not for a write of the thread. The date is
        // then that of the outcome.
        self.add(.line(FeedbackFile.line(device, goneSince: date)))
    }

    /// Returns a sink that passes outcomes to `sink`. An outcome waits until the lines that were added before it are in
    /// the file.
    func before(_ sink: any OutcomeSink) -> any OutcomeSink { Sink(writer: self, sink: sink) }

    private struct Sink: OutcomeSink {
        let writer: FeedbackWriter
        let sink: any OutcomeSink

        func settled(_ outcomes: Span<OutcomeRecord>) {
            guard self.writer.hasToWait else { return self.sink.settled(outcomes) }
            var records: [OutcomeRecord] = []
            records.reserveCapacity(outcomes.count)
            for index in outcomes.indices { records.append(outcomes[index]) }
            self.writer.add(.outcomes(records, self.sink))
        }
    }

    private var hasToWait: Bool { self.state.withLock { !$0.isIdle } }

    private func add(_ item: Item) {
        let starts = self.state.withLock { state in
            state.append(item)
            defer { state.isRunning = true }
            return !state.isRunning
        }
        guard starts else { return }
        Self.busy.withLock { $0[ObjectIdentifier(self)] = self }
        // If the system has no thread left, the line is written here. A wait does less harm than a lost line.
        if !OwnThread.start({ self.work() }) { self.work() }
    }

    // MARK: Room

    /// The number of notifications that may be taken now.
    var room: Int { self.state.withLock { max(Self.limit - $0.count, 0) } }

    /// Calls `body` immediately if there is room. Otherwise `body` is called when half of the queue is free, on any
    /// thread.
    func whenRoom(_ body: @escaping @Sendable () -> Void) {
        let waits = self.state.withLock { state in
            guard state.count >= Self.limit else { return false }
            state.waiters.append(body)
            return true
        }
        if !waits { body() }
    }

    private func offerRoom() {
        for body in self.state.withLock({ $0.takeWaiters() }) { body() }
    }

    // MARK: The thread

    private func work() {
        while true {
            switch ForkGate.pass({ self.step() }) {
            case .write(let line): self.append(line)
            case .goOn: continue
            case .end: return
            }
        }
    }

    private func step() -> Step {
        defer { self.offerRoom() }
        return self.telling.withLock { _ in
            switch self.take() {
            case .line(let line):
                return .write(line)
            case .outcomes(let records, let sink):
                sink.settled(records.span)
                return .goOn
            case nil:
                self.state.signal()
                return .end
            }
        }
    }

    private func take() -> Item? {
        self.state.withLock { state in
            let item = state.take()
            if item == nil { Self.busy.withLock { $0[ObjectIdentifier(self)] = nil } }
            return item
        }
    }

    // MARK: Ends

    /// Waits until the queue is empty, for at most `milliseconds`. Outcomes that still wait then are reported before
    /// their lines are written.
    func flush(milliseconds: Int64 = FeedbackWriter.patience) {
        guard !self.state.wait(milliseconds: milliseconds, until: { $0.isIdle }) else { return }
        ForkGate.pass { self.tell { _ in true } }
    }

    /// Reports the outcomes whose tags `isWanted` selects now, ahead of lines that are not written yet.
    func tell(_ isWanted: (PushTag) -> Bool) {
        self.telling.withLock { _ in
            for (records, sink) in self.state.withLock({ $0.takeOutcomes(isWanted) }) { sink.settled(records.span) }
        }
        self.offerRoom()
    }

    /// Calls ``flush(milliseconds:)`` of each busy writer in turn. So the wait is at most ``patience`` for each
    /// writer.
    static func flushAll() {
        for writer in self.busy.withLock({ $0.values.map { $0 } }) { writer.flush() }
    }

    /// Forgets all writers in a child of `fork`. Their threads do not exist there, so ``flushAll()`` would wait for
    /// them in vain.
    static func forked() { self.busy = Monitor([:]) }
}
