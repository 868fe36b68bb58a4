internal import BasicContainers
internal import DequeModule
internal import FerryCore
internal import FerryMachine

/// The queue through which callers on any thread hand notifications to a provider's event loops. Callers wait while it
/// is full.
///
/// A notification occupies a place from the moment it is taken. The place is free again once the notification was
/// written. If its outcome must wait for a reader, the place is free once the outcome was read.
///
/// ```
///                 by device token      collect(for:)
///   offer ──▶ ┬──────────────────▶ outlet 0 ──────────▶ loop 0
///             └──────────────────▶ outlet 1 ──────────▶ loop 1
/// ```
final class SubmissionQueue: Sendable {
    /// The notifications and withdrawals since a loop last collected them.
    struct Delivery: Sendable {
        var runs: [BatchRun] = []
        /// The tags of awaited notifications whose task was cancelled.
        var withdrawn: [UInt64] = []
    }

    /// The notifications that wait for one loop, and the number that the loop has.
    private struct Outlet: ~Copyable {
        var delivery = Delivery()
        /// Awaited notifications that are not in a run of `delivery` yet. One batch for many of them needs one
        /// allocation.
        var awaited = PushBatch()
        /// The number of notifications in `delivery` and `awaited`.
        var handedOver = 0
        /// The number of notifications that the loop had queued when it last reported.
        var queued = 0
        /// The number of those that wait for a later time.
        var delayed = 0
        /// The number of notifications that callers have handed over so far.
        var taken = 0
        /// Whether the loop was already woken for this delivery.
        var isAnnounced = false
        /// Whether the loop has notifications without an outcome.
        var isBusy = false

        mutating func take(_ run: BatchRun) {
            self.flushAwaited()
            self.delivery.runs.append(run)
            self.handedOver += run.count
            self.taken += run.count
        }

        /// The number of taken notifications that have left the queue, less those that wait for another copy.
        var written: Int { self.taken - self.handedOver - self.queued + self.delayed }

        /// Moves the awaited notifications into a run, so that later notifications come after them.
        mutating func flushAwaited() {
            guard !self.awaited.isEmpty else { return }
            self.delivery.runs.append(self.awaited.takeFirst(self.awaited.count))
        }

        /// Marks the delivery as announced. Returns whether the loop must be woken.
        mutating func announce() -> Bool {
            defer { self.isAnnounced = true }
            return !self.isAnnounced
        }
    }

    private struct State: ~Copyable {
        var outlets: UniqueArray<Outlet>
        /// The number of notifications in all outlets.
        var handedOver = 0
        /// The number of places for notifications that a caller is about to hand over.
        var reserved = 0
        /// The number of notifications that all loops have queued.
        var queued = 0
        /// The number of outcomes that wait for their reader.
        var unread = 0
        var isClosed = false
        var waiters: Deque<Waiter> = []
        var nextWaiter: UInt64 = 0
        var writeWaiters: [WriteWaiter] = []
        /// The number of free places at the last report of a loop.
        var lastRoom = 0
        /// The number of reports since the last admission that showed no additional free place while callers waited.
        var stalls = 0

        /// The number of places that are not free.
        var occupied: Int { self.handedOver + self.reserved + self.queued + self.unread }

        mutating func take(_ run: BatchRun, for loop: Int, waking news: inout LoopSet) {
            self.outlets[loop].take(run)
            self.handedOver += run.count
            if self.outlets[loop].announce() { news.insert(loop) }
        }
    }

    struct Waiter {
        var id: UInt64
        var resume: @Sendable () -> Void
    }

    /// A caller who waits until all notifications so far are written.
    private struct WriteWaiter {
        var id: UInt64
        /// For each loop: how many notifications must have been written.
        var counts: [Int]
        var resume: @Sendable () -> Void
    }

    /// The number of loops.
    let loopCount: Int
    /// The number of places.
    private let limit: Int
    /// The number of places that must be free before waiting callers are admitted, while the loops are busy.
    private let admission: Int
    /// After this many reports without more free places, waiting callers are admitted even to fewer places.
    private static let stallLimit = 4
    private let state: Locked<State>

    init(limit: Int, loopCount: Int = 1) {
        self.limit = max(limit, 1)
        self.loopCount = min(max(loopCount, 1), LoopSet.limit)
        self.admission = min(max(self.limit / 16, 1), 256)
        var outlets = UniqueArray<Outlet>()
        for _ in 0..<self.loopCount { outlets.append(Outlet()) }
        self.state = Locked(State(outlets: outlets))
    }

    // MARK: Callers

    /// The result of an offer.
    enum Answer {
        case closed
        /// There is no free place.
        case full
        /// The notifications that fit were taken. The loops in `waking` must be woken.
        case taken(waking: LoopSet)
    }

    /// Takes as many notifications from the front of `batch` as there are free places.
    func offer(_ batch: inout PushBatch) -> Answer {
        guard self.loopCount > 1 else { return self.hand(&batch) }
        let reserved: Int
        switch self.reserve(atMost: batch.count) {
        case .closed: return .closed
        case .none: return .full
        case .some(let count): reserved = count
        }
        // Outside the lock, because it copies bytes. The batch is the caller's until the places are taken for good.
        let parts = batch.first(reserved).split(into: self.loopCount) { entry in
            LoopChoice.loop(ofHash: entry.tokenHash, among: self.loopCount)
        }
        let answer = self.state.withLock { state -> Answer in
            state.reserved -= reserved
            guard !state.isClosed else { return .closed }
            var news = LoopSet()
            for (loop, part) in parts.enumerated() {
                if let part { state.take(part, for: loop, waking: &news) }
            }
            return .taken(waking: news)
        }
        if case .taken = answer { batch.removeFirst(reserved) }
        return answer
    }

    /// Takes the notifications that fit for the only loop, without a copy.
    private func hand(_ batch: inout PushBatch) -> Answer {
        self.state.withLock { state in
            guard !state.isClosed else { return .closed }
            let room = self.limit - state.occupied
            guard room > 0 else { return .full }
            var news = LoopSet()
            guard !batch.isEmpty else { return .taken(waking: news) }
            state.take(batch.takeFirst(room), for: 0, waking: &news)
            return .taken(waking: news)
        }
    }

    private enum Reservation {
        case closed
        case none
        case some(Int)
    }

    private func reserve(atMost count: Int) -> Reservation {
        self.state.withLock { state in
            guard !state.isClosed else { return .closed }
            let room = self.limit - state.occupied
            guard room > 0 else { return .none }
            let reserved = min(room, count)
            state.reserved += reserved
            return .some(reserved)
        }
    }

    /// The loop that gets the notifications for a destination.
    func loop(for destination: PushDestination) -> Int {
        guard self.loopCount > 1 else { return 0 }
        let hash = destination.bytes.withUnsafeBufferPointer { DeviceToken.stableHash($0) }
        return LoopChoice.loop(ofHash: hash, among: self.loopCount)
    }

    /// Takes one notification that a task awaits, if a place is free.
    ///
    /// - Parameter loop: the loop of its destination.
    func offer(
        _ notification: PushNotification,
        to destination: PushDestination,
        awaited tag: UInt64,
        for loop: Int
    ) -> Answer {
        self.state.withLock { state in
            guard !state.isClosed else { return .closed }
            guard state.occupied < self.limit else { return .full }
            do {
                try state.outlets[loop].awaited.append(notification, to: destination, tag: tag, fields: .awaited)
            } catch {
                // A batch refuses a notification only at 4 GiB. After the flush `awaited` is empty and accepts it.
                state.outlets[loop].flushAwaited()
                return .full
            }
            state.outlets[loop].handedOver += 1
            state.outlets[loop].taken += 1
            state.handedOver += 1
            var news = LoopSet()
            if state.outlets[loop].announce() { news.insert(loop) }
            return .taken(waking: news)
        }
    }

    /// Waits until a place may be free, the queue is closed, or the task is cancelled.
    func waitForRoom() async {
        let id = self.state.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let waits = self.state.withLock { state -> Bool in
                    guard !state.isClosed, state.occupied >= self.limit, !Task.isCancelled else { return false }
                    state.waiters.append(Waiter(id: id) { continuation.resume() })
                    return true
                }
                if !waits { continuation.resume() }
            }
        } onCancel: {
            let waiter = self.state.withLock { state -> Waiter? in
                guard let index = state.waiters.index(of: id) else { return nil }
                return state.waiters.remove(at: index)
            }
            waiter?.resume()
        }
    }

    /// Calls `body` once, on any thread, when a place may be free or the queue is closed. At once if that is so now; but while
    /// the loops are busy, a few free places are not worth a call.
    func whenRoom(_ body: @escaping @Sendable () -> Void) {
        let waits = self.state.withLock { state -> Bool in
            guard !state.isClosed, self.limit - state.occupied < self.neededRoom(state) else { return false }
            state.nextWaiter += 1
            state.waiters.append(Waiter(id: state.nextWaiter, resume: body))
            return true
        }
        if !waits { body() }
    }

    /// Calls `body` once, on any thread, when everything that was taken so far was written or has its outcome. At once if that is
    /// so now. Notifications that wait for a later time count as written: they were, before they were put off.
    ///
    /// - Returns: a number for ``stopWaiting(_:)``; nil if `body` was called.
    func whenWritten(_ body: @escaping @Sendable () -> Void) -> UInt64? {
        let id = self.state.withLock { state -> UInt64? in
            var counts: [Int] = []
            for index in state.outlets.indices { counts.append(state.outlets[index].taken) }
            let waiter = WriteWaiter(id: state.nextWaiter + 1, counts: counts, resume: body)
            guard !Self.isServed(waiter, state) else { return nil }
            state.nextWaiter += 1
            state.writeWaiters.append(waiter)
            return waiter.id
        }
        if id == nil { body() }
        return id
    }

    /// Forgets a caller of ``whenWritten(_:)`` who waits no longer.
    func stopWaiting(_ id: UInt64) {
        self.state.withLock { state in state.writeWaiters.removeAll { $0.id == id } }
    }

    private static func isServed(_ waiter: WriteWaiter, _ state: borrowing State) -> Bool {
        state.outlets.indices.allSatisfy { state.outlets[$0].written >= waiter.counts[$0] }
    }

    /// Removes and returns those who waited until something was written, and need wait no longer.
    private static func served(_ state: inout State) -> [WriteWaiter] {
        guard !state.writeWaiters.isEmpty else { return [] }
        let waiters = state.writeWaiters
        state.writeWaiters = waiters.filter { !Self.isServed($0, state) }
        return waiters.filter { Self.isServed($0, state) }
    }

    /// Asks a loop to withdraw an awaited notification that was not written yet. Returns whether the loop must be
    /// woken.
    func withdraw(_ tag: UInt64, from loop: Int) -> Bool {
        self.state.withLock { state in
            state.outlets[loop].delivery.withdrawn.append(tag)
            return state.outlets[loop].announce()
        }
    }

    // MARK: The loops

    /// Takes everything that callers handed over to a loop. The notifications keep their places until
    /// ``occupy(_:queued:delayed:isBusy:unread:)``.
    func collect(for loop: Int = 0) -> Delivery {
        self.state.withLock { state in
            let count = state.outlets[loop].handedOver
            state.outlets[loop].isAnnounced = false
            state.outlets[loop].flushAwaited()
            state.outlets[loop].handedOver = 0
            state.outlets[loop].queued += count
            if count > 0 { state.outlets[loop].isBusy = true }
            state.handedOver -= count
            state.queued += count
            defer { state.outlets[loop].delivery = Delivery() }
            return state.outlets[loop].delivery
        }
    }

    /// Sets the number of places that a loop occupies, and admits waiting callers if enough places are free.
    ///
    /// Waking a task costs more than sending a notification. While many notifications are queued, callers are therefore
    /// admitted only when many places are free: queued notifications leave without help from callers. Unread outcomes
    /// do not count as busy, because the waiting caller may be the one who must read them. Delayed notifications do not
    /// count either. If other callers keep taking the free places, waiting callers are still admitted after a few
    /// reports.
    ///
    /// - Parameters:
    ///   - delayed: how many of the queued notifications wait for a later time.
    ///   - isBusy: whether the loop has notifications without an outcome.
    ///   - unread: returns how many outcomes of all loops wait for their reader. Called under the lock: of two loops that
    ///     report at the same time, the later one must have the later number.
    func occupy(_ loop: Int = 0, queued: Int, delayed: Int, isBusy: Bool = false, unread: () -> Int) {
        let (waiters, served) = self.state.withLock { state -> ([Waiter], [WriteWaiter]) in
            state.queued += queued - state.outlets[loop].queued
            state.outlets[loop].queued = queued
            state.outlets[loop].delayed = delayed
            state.outlets[loop].isBusy = isBusy
            state.unread = unread()
            let admitted = self.admitted(&state, when: self.neededRoom(state))
            return (admitted, Self.served(&state))
        }
        for waiter in waiters { waiter.resume() }
        for waiter in served { waiter.resume() }
    }

    /// The number of places that must be free for waiting callers.
    private func neededRoom(_ state: borrowing State) -> Int {
        var active = state.queued
        for index in state.outlets.indices { active -= state.outlets[index].delayed }
        return active > self.admission ? self.admission : 1
    }

    /// Admits waiting callers if a place is free.
    func admit() {
        let waiters = self.state.withLock { self.admitted(&$0, when: 1) }
        for waiter in waiters { waiter.resume() }
    }

    private func admitted(_ state: inout State, when needed: Int) -> [Waiter] {
        guard !state.waiters.isEmpty else { return [] }
        let room = self.limit - state.occupied
        if room <= state.lastRoom { state.stalls += 1 }
        state.lastRoom = room
        guard room >= needed || room > 0 && state.stalls >= Self.stallLimit else { return [] }
        state.stalls = 0
        // Each woken waiter takes at least one place, so wake at most one for each place.
        let woken = Array(state.waiters.prefix(room))
        state.waiters.removeFirst(woken.count)
        return woken
    }

    /// Notes that all notifications of a loop have their outcome. Returns whether this is true for all loops.
    ///
    /// - Parameter isBusy: whether the loop has got others since.
    func completed(_ loop: Int, isBusy: Bool = false) -> Bool {
        guard self.loopCount > 1 else { return true }
        return self.state.withLock { state in
            state.outlets[loop].isBusy = isBusy
            return state.outlets.indices.allSatisfy { other in
                !state.outlets[other].isBusy && (other == loop || state.outlets[other].handedOver == 0)
            }
        }
    }

    /// The number of free places.
    var room: Int { self.state.withLock { max(self.limit - $0.occupied, 0) } }

    var isClosed: Bool { self.state.withLock { $0.isClosed } }

    /// Closes the queue and resumes all waiting callers.
    func close() {
        let waiters = self.state.withLock { state in
            state.isClosed = true
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }
}

extension Deque where Element == SubmissionQueue.Waiter {
    /// The index of a waiter, by binary search. A linear search would make many cancellations at once quadratic.
    ///
    /// Ids are given before a waiter joins the line, so two neighbours may be swapped. If the binary search misses,
    /// search linearly.
    fileprivate func index(of id: UInt64) -> Int? {
        var low = self.startIndex
        var high = self.endIndex
        while low < high {
            let middle = low + (high - low) / 2
            if self[middle].id < id { low = middle + 1 } else { high = middle }
        }
        if low < self.endIndex, self[low].id == id { return low }
        return self.firstIndex { $0.id == id }
    }
}
