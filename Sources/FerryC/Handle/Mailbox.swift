internal import CFerry
internal import FerryCore
internal import NIOCore
internal import NIOPosix

/// The outcomes and the numbers of one handle, between the event loops that give them and the threads that read them.
///
/// Waking a thread costs more than sending a notification. While many notifications have no outcome, readers therefore hear
/// of outcomes in ``batch``es, or ``patience`` after the first.
final class Mailbox: OutcomeSink, Sendable {
    /// With more notifications without an outcome, outcomes come in batches.
    private static let busy = 256
    private static let batch = 512
    private static let patience = TimeAmount.milliseconds(2)

    /// Which outcomes are kept for reading. The counts have all.
    enum Kept: String, CaseIterable {
        case all, failures, none
    }

    /// The room for notifications, as the caller knows it.
    private enum Room {
        case enough
        /// A submission found that the handle has reached its own limit. Reading makes room.
        case full
        /// A submission found that the provider has too little. It will call ``Mailbox/roomCame()``.
        case wanted
        /// There was too little, and now there is some.
        case offered
    }

    /// The news that everything has its outcome.
    private enum Settling {
        case noNews
        case untold
        /// A caller knows. Reading must not take the news from one who does not.
        case told
    }

    private struct State: ~Copyable {
        var signal: ReadySignal
        /// Readable while everything has its outcome, or the handle was freed.
        var settled: ReadySignal
        var outcomes: [ferry_outcome] = []
        /// The number of the first outcome that was not read.
        var read = 0
        var counts = OutcomeCounts()
        var taken = 0
        /// The notifications of calls that are under way. Some of them may have their outcome, and some may not be taken.
        var reserved = 0
        var room = Room.enough
        /// Whether the provider will call ``Mailbox/roomCame()``.
        var isAskedForRoom = false
        var settling = Settling.noNews
        /// Whether unread outcomes wait for others before a reader hears of them.
        var isGathering = false
        /// Whether an event loop will end that in time.
        var hasTimer = false
        var hasEvent = false
        /// Whether the handle was freed. Whoever waits for it is let go.
        var isFreed = false
        /// The calls that wait for a write.
        var flushes: [Latch] = []

        var unread: Int { self.outcomes.count - self.read }

        var ready: Int32 {
            (self.unread > 0 && !self.isGathering ? FERRY_READY_OUTCOMES : 0) | (self.hasEvent ? FERRY_READY_EVENT : 0)
                | (self.room == .offered ? FERRY_READY_ROOM : 0)
                | (self.settling != .noNews && self.isSettled ? FERRY_READY_SETTLED : 0)
        }

        var unsettled: Int { self.taken + self.reserved - self.counts.settled }
        var isSettled: Bool { self.unsettled == 0 }

        mutating func raise() {
            self.signal.set(self.ready != 0 || self.isFreed)
            self.settled.set(self.isSettled || self.isFreed)
        }
    }

    /// A class, because the lock's value must be copyable. Only its holder reaches the state.
    private final class Box {
        @exclusivity(unchecked) var state: State

        init(_ state: consuming State) { self.state = state }
    }

    private let box: Monitor<Box>
    private let kept: Kept
    /// While more outcomes are unread, nothing is taken.
    let limit: Int
    /// Whether ``limit`` is also that of notifications without an outcome, because other handles use the same provider.
    private let isShared: Bool
    let descriptor: Int32
    private let settledDescriptor: Int32

    /// Fails when the process has no descriptor left.
    init?(keeping kept: Kept, limit: Int, isShared: Bool = false) {
        guard let signal = ReadySignal(), let settled = ReadySignal() else { return nil }
        self.descriptor = signal.descriptor
        self.settledDescriptor = settled.descriptor
        self.kept = kept
        self.limit = max(limit, 1)
        self.isShared = isShared
        self.box = Monitor(Box(State(signal: signal, settled: settled)))
    }

    // MARK: The event loops

    func settled(_ outcomes: Span<OutcomeRecord>) {
        self.box.withLock { box in
            for index in outcomes.indices {
                let outcome = outcomes[index].outcome
                box.state.counts.add(outcome)
                guard self.keeps(outcome) else { continue }
                box.state.outcomes.append(ferry_outcome(outcomes[index]))
            }
            self.gather(&box.state)
            Self.note(&box.state)
            if self.isShared, box.state.room == .full, self.room(box.state) > 0 {
                box.state.room = .offered
                box.state.raise()
            }
        }
    }

    /// Decides whether readers hear of the unread outcomes now.
    private func gather(_ state: inout State) {
        // Who hears of some reads all: only the first of them can wait.
        let isFirst = state.isGathering || !state.signal.isRaised
        state.isGathering =
            isFirst && 1..<min(Self.batch, self.limit) ~= state.unread && state.unsettled > Self.busy
            && (state.hasTimer || self.startTimer())
        if state.isGathering { state.hasTimer = true }
    }

    /// Lets the event loop on which this is called end the gathering. Returns false elsewhere.
    private func startTimer() -> Bool {
        guard let loop = MultiThreadedEventLoopGroup.currentEventLoop else { return false }
        loop.scheduleTask(in: Self.patience) { [weak self] in self?.timePassed() }
        return true
    }

    private func timePassed() {
        self.box.withLock { box in
            box.state.hasTimer = false
            box.state.isGathering = false
            box.state.raise()
        }
    }

    /// How many notifications its own limit permits.
    private func room(_ state: borrowing State) -> Int {
        if state.unread >= self.limit { return 0 }
        return self.isShared ? max(self.limit - state.unsettled, 0) : .max
    }

    private func keeps(_ outcome: Outcome) -> Bool {
        switch self.kept {
        case .all: true
        case .failures: if case .accepted = outcome { false } else { true }
        case .none: false
        }
    }

    private static func note(_ state: inout State) {
        if state.isSettled, state.taken > 0, state.settling == .noNews { state.settling = .untold }
        state.raise()
    }

    func eventCame(_ hasEvent: Bool = true) {
        self.box.withLock { box in
            box.state.hasEvent = hasEvent
            box.state.raise()
        }
    }

    func roomCame() {
        self.box.withLock { box in
            if box.state.room == .wanted { box.state.room = .offered }
            box.state.isAskedForRoom = false
            box.state.raise()
        }
    }

    // MARK: Callers

    /// Notes that notifications are about to be taken. Returns how many of `count` there is room for.
    func begin(_ count: Int) -> Int {
        self.box.withLock { box in
            box.state.room = .enough
            box.state.settling = .noNews
            let count = min(count, self.room(box.state))
            box.state.reserved += count
            box.state.raise()
            return count
        }
    }

    /// Notes that `taken` of the `count` notifications of ``begin(_:)`` were taken.
    func end(_ count: Int, taken: Int) {
        guard count > 0 else { return }
        self.box.withLock { box in
            box.state.reserved -= count
            box.state.taken += taken
            Self.note(&box.state)
        }
    }

    /// Notes a submission after the end. There will be no room.
    func turnAway() {
        self.box.withLock { box in
            box.state.room = .enough
            box.state.settling = .noNews
            box.state.raise()
        }
    }

    /// Notes that the caller has more than there was room for. Returns whether to ask the provider for ``roomCame()``. It is
    /// not asked twice, nor while the caller's own unread outcomes leave no room.
    func wantRoom() -> Bool {
        self.box.withLock { box in
            box.state.room = self.room(box.state) > 0 ? .wanted : .full
            box.state.settling = .noNews
            box.state.raise()
            guard box.state.room == .wanted, !box.state.isAskedForRoom else { return false }
            box.state.isAskedForRoom = true
            return true
        }
    }

    /// Copies outcomes to `target`. Returns how many.
    func read(into target: UnsafeMutableRawPointer, size: Int, capacity: Int) -> Int {
        self.box.withLock { box in
            let count = min(box.state.unread, capacity)
            let own = MemoryLayout<ferry_outcome>.size
            box.state.outcomes.withUnsafeBytes { source in
                guard count > 0, let start = source.baseAddress else { return }
                if size == own { return target.copyMemory(from: start + box.state.read * own, byteCount: count * own) }
                for index in 0..<count {
                    Self.copy(start + (box.state.read + index) * own, to: target + index * size, size: size)
                }
            }
            self.noteRead(count, &box.state)
            return count
        }
    }

    /// Copies the first outcome to `target`, and the tags of it and of those like it to `tags`. Returns how many.
    func readRun(
        into target: UnsafeMutableRawPointer,
        size: Int,
        tags: UnsafeMutablePointer<UInt64>,
        capacity: Int
    ) -> Int {
        self.box.withLock { box in
            let unread = box.state.outcomes[box.state.read...].prefix(capacity)
            var count = 0
            if var first = unread.first {
                for outcome in unread {
                    guard outcome.isLike(first) else { break }
                    tags[count] = outcome.tag
                    count += 1
                }
                Self.copy(&first, to: target, size: size)
            }
            self.noteRead(count, &box.state)
            return count
        }
    }

    /// Copies an outcome into the structure of a caller that may be of a later version.
    private static func copy(_ outcome: UnsafeRawPointer, to target: UnsafeMutableRawPointer, size: Int) {
        target.initializeMemory(as: UInt8.self, repeating: 0, count: size)
        target.copyMemory(from: outcome, byteCount: MemoryLayout<ferry_outcome>.size)
    }

    /// Removes the outcomes that were read.
    private func noteRead(_ count: Int, _ state: inout State) {
        state.read += count
        state.isGathering = false
        if state.read == state.outcomes.count {
            state.outcomes.removeAll(keepingCapacity: true)
            state.read = 0
        } else if state.read * 2 > state.outcomes.count {
            state.outcomes.removeFirst(state.read)
            state.read = 0
        }
        if state.room == .full, self.room(state) > 0 { state.room = .offered }
        if count == 0, state.settling == .told { state.settling = .noNews }
        state.raise()
    }

    /// The bits of `ferry_wait`; an error once the handle was freed.
    var ready: Int32 {
        self.box.withLock { box in
            guard !box.state.isFreed else { return FERRY_EHANDLE }
            let ready = box.state.ready
            if ready & FERRY_READY_SETTLED != 0 { box.state.settling = .told }
            return ready
        }
    }

    /// Lets those who wait go on, because nothing more may come.
    func closed() {
        self.box.withLock { box in
            box.state.room = .enough
            box.state.settling = .untold
            box.state.raise()
        }
    }

    func freed() {
        self.box.withLock { box in
            box.state.isFreed = true
            box.state.raise()
            for flush in box.state.flushes { flush.open() }
        }
    }

    /// Waits until `latch` opens, or the handle is freed. Returns 0 then; 1 after the time; an error.
    func flush(_ latch: Latch, milliseconds: Int64) -> Int32 {
        self.box.withLock { box in
            box.state.flushes.append(latch)
            if box.state.isFreed { latch.open() }
        }
        let answer = latch.wait(milliseconds: milliseconds, endsAtSignal: true)
        return self.box.withLock { box in
            box.state.flushes.removeAll { $0 === latch }
            return box.state.isFreed ? FERRY_EHANDLE : answer < 0 ? answer : answer == 0 ? 1 : 0
        }
    }

    var isSettled: Bool { self.box.withLock { $0.state.isSettled } }

    private var unsettled: Int { self.box.withLock { $0.state.unsettled } }

    func wait(milliseconds: Int64) -> Int32 {
        Waiting.wait(on: self.descriptor, milliseconds: milliseconds) { self.ready }
    }

    /// Waits until everything has its outcome. Returns how many have none.
    func drain(milliseconds: Int64) -> Int {
        _ = self.waitUntilSettled(milliseconds: milliseconds, endsAtSignal: false)
        return max(ForkGate.pass { self.unsettled }, 0)
    }

    /// Returns 0 when everything has its outcome or the handle was freed; 1 after the time; `FERRY_EINTR` after a signal.
    func waitUntilSettled(milliseconds: Int64, endsAtSignal: Bool) -> Int32 {
        let answer = Waiting.wait(
            on: self.settledDescriptor,
            milliseconds: milliseconds,
            endsAtSignal: endsAtSignal
        ) {
            self.box.withLock { $0.state.isSettled || $0.state.isFreed ? 1 : 0 }
        }
        return answer < 0 ? answer : answer == 0 ? 1 : 0
    }

    /// The numbers without those that only the provider has.
    func numbers() -> ferry_numbers {
        self.box.withLock { box in
            let counts = box.state.counts
            var numbers = ferry_numbers()
            numbers.taken = UInt64(max(box.state.taken, counts.settled))
            numbers.unsettled = UInt64(max(box.state.unsettled, 0))
            numbers.unread = UInt64(box.state.unread)
            numbers.confirmed = UInt64(counts.confirmed)
            numbers.presumed = UInt64(counts.presumed)
            numbers.rejected = UInt64(counts.rejected)
            numbers.expired = UInt64(counts.expired)
            numbers.undelivered = UInt64(counts.undelivered)
            numbers.uncertain = UInt64(counts.uncertain)
            return numbers
        }
    }
}
