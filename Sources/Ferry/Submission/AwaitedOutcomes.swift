internal import FerryCore

/// The tasks that wait in `send`, each for the outcome of one notification.
///
/// Each task has a slot from submission to outcome:
///
/// ```
///                          ┌── value(of:) ──▶ waiting ── resume ──┐
///   free ── reserve ──▶ pending                                   ├──▶ free
///     ▲                    ├── resume ──▶ done ── value(of:) ─────┘
///     └──── release ───────┘
/// ```
///
/// The tag of the notification combines the slot's index and its generation. The generation changes with each use, so a
/// tag from an earlier use matches no slot. There are as many slots as tasks waited at the same time; when no task waits,
/// more than ``keptSlots`` are freed.
final class AwaitedOutcomes: Sendable {
    /// The number of slots that stay allocated while no task waits.
    static let keptSlots = 1024
    /// The number of outcomes that one hold of the lock delivers.
    private static let heldTogether = 32

    private enum State {
        /// The slot is unused. `next` is the free slot after it in the list.
        case free(next: Int?)
        case pending
        case waiting(UnsafeContinuation<Outcome, Never>)
        case done(Outcome)
    }

    private struct Slot {
        /// The number of the use, never 0; 0 while the slot is free.
        var generation: UInt32
        var state: State

        /// Sets the state and returns the one before. A state that is read in place is copied, with its references.
        mutating func exchange(_ state: State) -> State {
            var state = state
            swap(&self.state, &state)
            return state
        }
    }

    private struct Slots {
        private var slots: [Slot] = []
        private var firstFree: Int?
        private var lastGeneration: UInt32 = 0
        private var usedCount = 0

        var count: Int { self.slots.count }

        mutating func reserve() -> UInt64 {
            self.lastGeneration = max(self.lastGeneration &+ 1, 1)
            self.usedCount += 1
            let slot = Slot(generation: self.lastGeneration, state: .pending)
            guard let index = self.firstFree, case .free(let next) = self.slots[index].state else {
                self.slots.append(slot)
                return self.tag(self.slots.count - 1)
            }
            self.firstFree = next
            self.slots[index] = slot
            return self.tag(index)
        }

        private func tag(_ index: Int) -> UInt64 { UInt64(self.slots[index].generation) << 32 | UInt64(index) }

        /// The index of the slot for `tag`. Nil if the tag is from an earlier use.
        private func index(_ tag: UInt64) -> Int? {
            let index = Int(tag & 0xffff_ffff)
            let generation = tag >> 32
            guard generation != 0, index < self.slots.count, self.slots[index].generation == generation else {
                return nil
            }
            return index
        }

        mutating func release(_ tag: UInt64) {
            if let index = self.index(tag) { self.free(index) }
        }

        private mutating func free(_ index: Int) {
            self.slots[index] = Slot(generation: 0, state: .free(next: self.firstFree))
            self.firstFree = index
            self.usedCount -= 1
            guard self.usedCount == 0, self.slots.count > AwaitedOutcomes.keptSlots else { return }
            self.slots = []
            self.firstFree = nil
        }

        /// Stores an outcome. Returns the continuation of the task that waits for it, if there is one.
        mutating func resume(_ record: OutcomeRecord) -> UnsafeContinuation<Outcome, Never>? {
            guard let index = self.index(record.tag.rawValue) else { return nil }
            guard case .waiting(let continuation) = self.slots[index].exchange(.done(record.outcome)) else {
                return nil
            }
            self.free(index)
            return continuation
        }

        /// Returns the outcome, or stores the continuation until the outcome comes.
        mutating func outcome(_ tag: UInt64, or continuation: UnsafeContinuation<Outcome, Never>) -> Outcome? {
            guard let index = self.index(tag) else {
                preconditionFailure("a slot is in use until its outcome was read")
            }
            guard case .done(let outcome) = self.slots[index].exchange(.waiting(continuation)) else { return nil }
            self.free(index)
            return outcome
        }
    }

    private let slots = Locked(Slots())

    /// The number of slots, used or free.
    var slotCount: Int { self.slots.withLock { $0.count } }

    /// Reserves a slot and returns its tag. The caller must then call ``value(of:)`` or ``release(_:)``.
    func reserve() -> UInt64 { self.slots.withLock { $0.reserve() } }

    /// Frees the slot of a notification that was not taken.
    func release(_ tag: UInt64) {
        self.slots.withLock { $0.release(tag) }
    }

    /// Waits for the outcome of the notification with this tag.
    func value(of tag: UInt64) async -> Outcome {
        await withUnsafeContinuation { continuation in
            let outcome = self.slots.withLock { $0.outcome(tag, or: continuation) }
            if let outcome { continuation.resume(returning: outcome) }
        }
    }

    /// Delivers outcomes.
    ///
    /// Holds the lock for a few at a time. While one hold delivered a thousand, the tasks that call `send` would fall
    /// asleep before the lock, and waking them costs more. A lock for each would be contended as often.
    func resume(_ records: [OutcomeRecord]) {
        var first = records.startIndex
        var woken: [(task: UnsafeContinuation<Outcome, Never>, outcome: Outcome)] = []
        woken.reserveCapacity(min(records.count, Self.heldTogether))
        while first < records.endIndex {
            let end = min(first + Self.heldTogether, records.endIndex)
            self.slots.withLock { slots in
                for record in records[first..<end] {
                    if let task = slots.resume(record) { woken.append((task, record.outcome)) }
                }
            }
            for (task, outcome) in woken { task.resume(returning: outcome) }
            woken.removeAll(keepingCapacity: true)
            first = end
        }
    }
}
