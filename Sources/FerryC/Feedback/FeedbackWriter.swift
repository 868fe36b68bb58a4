internal import FerryCore
internal import NIOCore

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// Appends devices to a ``FeedbackFile`` on a thread of its own: a disk that hangs must not stop an event loop.
///
/// A line is in the file before its outcome is told. So the outcomes of a provider pass through the writer: while lines are
/// not written, later outcomes wait behind them.
///
/// ```
///   event loop ── line ───▶ ┌───────┐
///                           │ queue │ ──▶ thread ──▶ file
///   event loop ── outcomes ▶└───────┘        └─────▶ sink
///        └───────────── if the queue is empty ──────▶
/// ```
///
/// The thread lives while there is something to write.
///
/// The queue takes everything, because an event loop can neither wait nor drop an outcome. Its bound is that of the
/// notifications: while ``limit`` lines and outcomes wait, a ``Handle`` takes no more of them. So the queue has at most as
/// many, and those of the notifications that the provider had before.
final class FeedbackWriter: Sendable {
    private enum Item {
        case line([UInt8])
        case outcomes([OutcomeRecord], any OutcomeSink)

        /// How many lines and outcomes it is.
        var count: Int {
            switch self {
            case .line: 1
            case .outcomes(let records, _): records.count
            }
        }
    }

    private struct State {
        var items = CircularBuffer<Item>()
        /// The lines and outcomes in ``items``.
        var count = 0
        /// Whether the thread runs.
        var isRunning = false
        /// The handles that have something to submit.
        var waiters: [@Sendable () -> Void] = []

        var isIdle: Bool { !self.isRunning && self.items.isEmpty }

        mutating func append(_ item: Item) {
            self.items.append(item)
            self.count += item.count
        }

        mutating func take() -> Item? {
            guard let item = self.items.popFirst() else {
                // A disk that hung has left much memory.
                self.items = CircularBuffer()
                self.isRunning = false
                return nil
            }
            self.count -= item.count
            return item
        }

        /// Removes and returns outcomes that wait.
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

        /// Removes and returns those who may go on. Half of the queue is free then: few calls find room for many.
        mutating func takeWaiters() -> [@Sendable () -> Void] {
            guard self.count <= FeedbackWriter.limit / 2 else { return [] }
            defer { self.waiters = [] }
            return self.waiters
        }
    }

    /// The next work of the thread.
    private enum Step {
        case write([UInt8])
        case goOn
        case end
    }

    /// While so many lines and outcomes wait, no notification is taken.
    static let limit = 65_536
    /// The time in milliseconds that the end of a handle, or of the process, waits for the file.
    static let patience: Int64 = 1000

    /// The writers with a thread.
    private nonisolated(unsafe) static var busy = Monitor<[ObjectIdentifier: FeedbackWriter]>([:])

    private let append: @Sendable ([UInt8]) -> Void
    private let state = Monitor(State())
    /// Held while outcomes go from the queue to their sinks: otherwise they would for a moment be in neither.
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
    ///   - append: writes a line, for as long as it takes. A fork does not wait for it, so it must not use the Swift runtime.
    ///   - lost: returns the number of lines that it could not write.
    init(_ append: @escaping @Sendable ([UInt8]) -> Void, lost: @escaping @Sendable () -> Int = { 0 }) {
        self.append = append
        self.lost = lost
    }

    /// The number of devices that could not be written, because the disk was full, say.
    var lostCount: Int { self.lost() }

    /// Has a line written soon. Never waits.
    func add(_ device: DeviceToken, goneSince date: Date?) {
        // Here, and not on the thread: a fork waits for event loops, and the time is that of the outcome.
        self.add(.line(FeedbackFile.line(device, goneSince: date)))
    }

    /// Returns a sink that passes outcomes on to `sink`, each behind the lines before it.
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
        // Without a thread, waiting here loses less than dropping the line.
        if !OwnThread.start({ self.work() }) { self.work() }
    }

    // MARK: Room

    /// How many notifications may be taken now.
    var room: Int { self.state.withLock { max(Self.limit - $0.count, 0) } }

    /// Calls `body` once when there is room: at once, or on the writer's thread.
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

    /// Waits until everything is written. Outcomes that then still wait are told all the same.
    func flush(milliseconds: Int64 = FeedbackWriter.patience) {
        guard !self.state.wait(milliseconds: milliseconds, until: { $0.isIdle }) else { return }
        ForkGate.pass { self.tell { _ in true } }
    }

    /// Tells the outcomes with these tags now, ahead of lines that are not written.
    func tell(_ isWanted: (PushTag) -> Bool) {
        self.telling.withLock { _ in
            for (records, sink) in self.state.withLock({ $0.takeOutcomes(isWanted) }) { sink.settled(records.span) }
        }
        self.offerRoom()
    }

    /// Waits until every writer of this process has written everything.
    static func flushAll() {
        for writer in self.busy.withLock({ $0.values.map { $0 } }) { writer.flush() }
    }

    /// Notes that this is a child of `fork`, which has none of these threads.
    static func forked() { self.busy = Monitor([:]) }
}
