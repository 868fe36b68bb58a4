internal import FerryCore

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
final class FeedbackWriter: Sendable {
    private enum Item {
        case line(DeviceToken, Date?)
        case outcomes([OutcomeRecord], any OutcomeSink)
    }

    private struct State {
        var items: [Item] = []
        /// The number of the first item that was not taken.
        var next = 0
        /// Whether the thread runs.
        var isRunning = false
        var lost = 0

        var count: Int { self.items.count - self.next }
        var isIdle: Bool { !self.isRunning && self.count == 0 }

        mutating func take() -> Item? {
            if self.next * 2 > self.items.count {
                self.items.removeFirst(self.next)
                self.next = 0
            }
            guard self.count > 0 else {
                self.isRunning = false
                return nil
            }
            defer { self.next += 1 }
            return self.items[self.next]
        }

        /// Removes and returns the outcomes that wait.
        mutating func takeOutcomes() -> [([OutcomeRecord], any OutcomeSink)] {
            let waiting = self.items[self.next...]
            self.items = waiting.filter { if case .line = $0 { true } else { false } }
            self.next = 0
            return waiting.compactMap { item in
                guard case .outcomes(let records, let sink) = item else { return nil }
                return (records, sink)
            }
        }
    }

    /// The lines and outcomes that wait at most. Further lines are lost, and further outcomes are told without a wait.
    static let limit = 65_536
    /// The time in milliseconds that the end of a handle, or of the process, waits for the file.
    static let patience: Int64 = 1000

    /// The writers with a thread.
    private nonisolated(unsafe) static var busy = Monitor<[ObjectIdentifier: FeedbackWriter]>([:])

    private let append: @Sendable (DeviceToken, Date?) -> Void
    private let state = Monitor(State())
    private let fileLost: @Sendable () -> Int

    convenience init(_ file: FeedbackFile) {
        self.init {
            file.append($0, goneSince: $1)
        } lost: {
            file.lostCount
        }
    }

    /// - Parameters:
    ///   - append: writes a line, for as long as it takes.
    ///   - lost: returns the number of lines that it could not write.
    init(
        _ append: @escaping @Sendable (DeviceToken, Date?) -> Void,
        lost: @escaping @Sendable () -> Int = { 0 }
    ) {
        self.append = append
        self.fileLost = lost
    }

    /// The number of devices that could not be written, because the disk was full, say.
    var lostCount: Int { self.state.withLock { $0.lost } + self.fileLost() }

    /// Has a line written soon. Never waits.
    func add(_ device: DeviceToken, goneSince date: Date?) {
        // The time of the outcome, and not that of the write.
        self.add(.line(device, date ?? .now))
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

    private var hasToWait: Bool { self.state.withLock { !$0.isIdle && $0.count < Self.limit } }

    private func add(_ item: Item) {
        let starts = self.state.withLock { state in
            if case .line = item, state.count >= Self.limit {
                state.lost += 1
                return false
            }
            state.items.append(item)
            defer { state.isRunning = true }
            return !state.isRunning
        }
        guard starts else { return }
        Self.busy.withLock { $0[ObjectIdentifier(self)] = self }
        // Without a thread, waiting here loses less than dropping the line.
        if !OwnThread.start({ self.work() }) { self.work() }
    }

    private func work() {
        while let item = ForkGate.pass({ self.take() }) {
            switch item {
            case .line(let device, let date): self.append(device, date)
            case .outcomes(let records, let sink): ForkGate.pass { sink.settled(records.span) }
            }
        }
        self.state.signal()
    }

    private func take() -> Item? {
        self.state.withLock { state in
            let item = state.take()
            if item == nil { Self.busy.withLock { $0[ObjectIdentifier(self)] = nil } }
            return item
        }
    }

    /// Waits until everything is written. Outcomes that then still wait are told all the same.
    func flush(milliseconds: Int64 = FeedbackWriter.patience) {
        guard !self.state.wait(milliseconds: milliseconds, until: { $0.isIdle }) else { return }
        let waiting = ForkGate.pass { self.state.withLock { $0.takeOutcomes() } }
        for (records, sink) in waiting { ForkGate.pass { sink.settled(records.span) } }
    }

    // MARK: The process

    /// Waits until every writer of this process has written everything.
    static func flushAll() {
        for writer in self.busy.withLock({ $0.values.map { $0 } }) { writer.flush() }
    }

    /// Notes that this is a child of `fork`, which has none of these threads.
    static func forked() { self.busy = Monitor([:]) }
}
