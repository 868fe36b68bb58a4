internal import CFerry
internal import FerryCore
internal import NIOCore
internal import NIOPosix

/// The outcomes and the figures of one handle. Event loops write them, and the caller's threads read them.
///
/// A wake-up of a thread costs more than a notification. So while more than ``busy`` notifications are unsettled,
/// readers are woken for ``batch`` outcomes, or at most ``patience`` after the first.
final class Mailbox: OutcomeSink, Sendable {
    /// The number of unsettled notifications above which outcomes are reported in batches.
    private static let busy = 256
    private static let batch = 512
    private static let patience = TimeAmount.milliseconds(2)

    /// The outcomes that are kept for reading. The counts always cover all outcomes.
    enum Kept: String, CaseIterable {
        case all, failures, none
    }

    /// The room for notifications, as the caller knows it.
    private enum Room {
        case enough
        /// A submission reached the handle's own limit. Reading outcomes makes room. If the provider is shared, new
        /// outcomes make room, too.
        case full
        /// A submission found too little room in the provider, or in the queue of the ``FeedbackWriter``. The provider
        /// will call ``Mailbox/roomCame()`` when both have room.
        case wanted
        /// There was too little room, and now there is some.
        case offered
    }

    /// The state of `FERRY_READY_SETTLED`, the news that all notifications have their outcomes.
    private enum Settling {
        case noNews
        case untold
        /// A wait has reported the news to the caller. The next read that returns no outcome, and the next submission,
        /// clear the news.
        case told
    }

    private struct State: ~Copyable {
        var signal: ReadySignal
        /// A descriptor that is readable while all notifications have their outcomes, and after the handle was freed.
        var settled: ReadySignal
        var outcomes: [ferry_outcome] = []
        /// The index of the first unread outcome in ``outcomes``.
        var read = 0
        var counts = OutcomeCounts()
        var taken = 0
        /// The number of places that running submissions have reserved. Some of these notifications may have their
        /// outcomes already, and some may not be taken.
        var reserved = 0
        var room = Room.enough
        /// Whether the provider has been asked to call ``Mailbox/roomCame()``.
        var isAskedForRoom = false
        var settling = Settling.noNews
        /// Whether unread outcomes wait for further outcomes before a reader is woken.
        var isGathering = false
        /// Whether an event loop has a timer that clears ``isGathering``.
        var hasTimer = false
        var hasEvent = false
        /// Whether the handle was freed. All waiting callers are then released.
        var isFreed = false
        /// The latches of the running calls of ``Mailbox/flush(_:milliseconds:)``.
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

    /// A class, because the value of the lock must be copyable. Only the thread that holds the lock uses the state.
    private final class Box {
        @exclusivity(unchecked) var state: State

        init(_ state: consuming State) { self.state = state }
    }

    private let box: Monitor<Box>
    private let kept: Kept
    /// The number of unread outcomes at which no more notifications are taken.
    let limit: Int
    /// Whether ``limit`` also bounds the unsettled notifications, because other handles use the same provider.
    private let isShared: Bool
    let descriptor: Int32
    private let settledDescriptor: Int32

    /// Returns nil if the process has no descriptor left.
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

    /// Decides whether to wake readers for the unread outcomes now.
    private func gather(_ state: inout State) {
        // If the signal is raised, readers were woken already. Then a new outcome does not wait for further outcomes.
        let isFirst = state.isGathering || !state.signal.isRaised
        state.isGathering =
            isFirst && 1..<min(Self.batch, self.limit) ~= state.unread && state.unsettled > Self.busy
            && (state.hasTimer || self.startTimer())
        if state.isGathering { state.hasTimer = true }
    }

    /// Schedules the end of the wait on the event loop that makes this call. Returns false on another thread.
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

    /// The number of notifications that the handle's own limit allows.
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

    /// Reserves places for notifications that are about to be taken: for `count`, or for fewer if there is less room.
    /// Returns the number of reserved places.
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

    /// Notes that `taken` of `count` reserved notifications were taken. `count` is the result of ``begin(_:)``.
    func end(_ count: Int, taken: Int) {
        guard count > 0 else { return }
        self.box.withLock { box in
            box.state.reserved -= count
            box.state.taken += taken
            Self.note(&box.state)
        }
    }

    /// Notes a submission after the handle was closed. The state becomes ``Room/enough``, because a closed handle gets
    /// no room to wait for.
    func turnAway() {
        self.box.withLock { box in
            box.state.room = .enough
            box.state.settling = .noNews
            box.state.raise()
        }
    }

    /// Notes that the caller had more notifications than room. Returns whether to ask the provider to call
    /// ``roomCame()``. The provider is asked only if the handle's own limit leaves room. After that, the provider is
    /// not asked again before it has called ``roomCame()``.
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

    /// Copies at most `capacity` outcomes to `target`, and returns their number.
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

    /// Copies the first outcome to `target`, and its tag to `tags`. If the next outcomes are like the first, only
    /// their tags are copied. Returns the number of tags.
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

    /// Copies an outcome into the caller's structure. A later version of `ferry.h` has a longer structure, whose rest
    /// is set to 0.
    private static func copy(_ outcome: UnsafeRawPointer, to target: UnsafeMutableRawPointer, size: Int) {
        target.initializeMemory(as: UInt8.self, repeating: 0, count: size)
        target.copyMemory(from: outcome, byteCount: MemoryLayout<ferry_outcome>.size)
    }

    /// Removes outcomes that were read.
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

    /// The bits of `ferry_wait`, or `FERRY_EHANDLE` after the handle was freed. If the bits contain
    /// `FERRY_READY_SETTLED`, the news becomes ``Settling/told``.
    var ready: Int32 {
        self.box.withLock { box in
            guard !box.state.isFreed else { return FERRY_EHANDLE }
            let ready = box.state.ready
            if ready & FERRY_READY_SETTLED != 0 { box.state.settling = .told }
            return ready
        }
    }

    /// Raises `FERRY_READY_SETTLED` for the callers of `ferry_wait`, because no other news may come. Callers of
    /// ``flush(_:milliseconds:)`` go on waiting for their latch.
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

    /// Waits until `latch` opens or the handle is freed. Returns 0 when the latch opens, 1 when the time is over,
    /// `FERRY_EINTR` after a signal, and `FERRY_EHANDLE` when the handle is freed.
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

    /// Waits until all notifications have their outcomes, the handle is freed, or the time is over. Returns the number
    /// of notifications without an outcome.
    func drain(milliseconds: Int64) -> Int {
        _ = self.waitUntilSettled(milliseconds: milliseconds, endsAtSignal: false)
        return max(ForkGate.pass { self.unsettled }, 0)
    }

    /// Returns 0 when all notifications have their outcomes or the handle was freed, 1 when the time is over, and
    /// `FERRY_EINTR` after a signal.
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

    /// The figures of the handle, without those that only the provider has.
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
