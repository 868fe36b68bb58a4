internal import FerryCore
internal import Synchronization

/// The tasks that await the outcome of one notification each, in `send`.
///
/// A task has a slot from submission to outcome:
///
/// ```
///                          ┌── value(of:) ──▶ waiting ── resume ──┐
///   free ── reserve ──▶ pending                                   ├──▶ free
///     ▲                    ├── resume ──▶ done ── value(of:) ─────┘
///     └──── release ───────┘
/// ```
///
/// The tag of the notification is the slot's index and its generation. The generation changes with each use, so that a tag
/// from an earlier use finds nobody. There are as many slots as there were tasks at a time.
final class AwaitedOutcomes: Sendable {
    private enum State {
        /// The slot that is to be used after this one.
        case free(next: Int?)
        case pending
        case waiting(CheckedContinuation<Outcome, Never>)
        case done(Outcome)
    }

    private struct Slot {
        var generation: UInt32 = 0
        var state: State
    }

    private struct Slots {
        var slots: [Slot] = []
        var firstFree: Int?

        mutating func reserve() -> UInt64 {
            guard let index = self.firstFree, case .free(let next) = self.slots[index].state else {
                self.slots.append(Slot(state: .pending))
                return self.tag(self.slots.count - 1)
            }
            self.firstFree = next
            self.slots[index].state = .pending
            return self.tag(index)
        }

        func tag(_ index: Int) -> UInt64 { UInt64(self.slots[index].generation) << 32 | UInt64(index) }

        /// The slot of a tag that is in use.
        func index(_ tag: UInt64) -> Int? {
            let index = Int(tag & 0xffff_ffff)
            guard index < self.slots.count, self.slots[index].generation == tag >> 32 else { return nil }
            return index
        }

        mutating func free(_ index: Int) {
            self.slots[index].generation &+= 1
            self.slots[index].state = .free(next: self.firstFree)
            self.firstFree = index
        }

        /// Notes an outcome; returns the task that waits for it.
        mutating func resume(_ record: OutcomeRecord) -> CheckedContinuation<Outcome, Never>? {
            guard let index = self.index(record.tag.rawValue) else { return nil }
            switch self.slots[index].state {
            case .waiting(let continuation):
                self.free(index)
                return continuation
            case .pending:
                self.slots[index].state = .done(record.outcome)
                return nil
            case .done, .free:
                return nil
            }
        }

        /// Gives a task its outcome, or lets it wait for that.
        mutating func outcome(_ tag: UInt64, or continuation: CheckedContinuation<Outcome, Never>) -> Outcome? {
            guard let index = self.index(tag) else {
                preconditionFailure("a slot is in use until its outcome was read")
            }
            guard case .done(let outcome) = self.slots[index].state else {
                self.slots[index].state = .waiting(continuation)
                return nil
            }
            self.free(index)
            return outcome
        }
    }

    private let slots = Mutex(Slots())

    /// The tag for a notification that a task is going to await. ``value(of:)`` or ``release(_:)`` must follow.
    func reserve() -> UInt64 { self.slots.withLock { $0.reserve() } }

    /// Gives back the tag of a notification that was not taken.
    func release(_ tag: UInt64) {
        self.slots.withLock { slots in
            if let index = slots.index(tag) { slots.free(index) }
        }
    }

    /// The outcome of the notification with this tag, once it is there.
    func value(of tag: UInt64) async -> Outcome {
        await withCheckedContinuation { continuation in
            let outcome = self.slots.withLock { $0.outcome(tag, or: continuation) }
            if let outcome { continuation.resume(returning: outcome) }
        }
    }

    /// Delivers outcomes. One lock for all, and no task is woken under it.
    func resume(_ records: [OutcomeRecord]) {
        guard !records.isEmpty else { return }
        let waiting = self.slots.withLock { slots in records.map { slots.resume($0) } }
        for (record, continuation) in zip(records, waiting) { continuation?.resume(returning: record.outcome) }
    }
}
