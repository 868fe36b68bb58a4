internal import DequeModule
internal import FerryCore
internal import Synchronization

/// The queue through which callers on any thread hand notifications to a provider's event loop. Callers wait while it
/// is full.
///
/// A notification occupies a place from the moment it is taken. The place is free again once the notification was
/// written. If its outcome must wait for a reader, the place is free once the outcome was read.
final class SubmissionQueue: Sendable {
    /// The notifications and withdrawals since the loop last collected them.
    struct Delivery: Sendable {
        var runs: [BatchRun] = []
        /// The tags of awaited notifications whose task was cancelled.
        var withdrawn: [UInt64] = []
    }

    private struct State: ~Copyable {
        var delivery = Delivery()
        /// Awaited notifications that are not in a run of `delivery` yet. One batch for many of them needs one
        /// allocation.
        var awaited = PushBatch()
        /// The number of notifications in `delivery` and `awaited`.
        var handedOver = 0
        /// The number of occupied places that the loop last reported.
        var occupied = 0
        /// Whether the loop was already woken for this delivery.
        var isAnnounced = false
        var isClosed = false
        var waiters: Deque<Waiter> = []
        var nextWaiter: UInt64 = 0
        /// The number of free places at the last report of the loop.
        var lastRoom = 0
        /// How many reports since the last admission showed no more free places than the report before, while callers
        /// waited.
        var stalls = 0

        mutating func take(_ run: BatchRun) {
            self.delivery.runs.append(run)
            self.handedOver += run.count
        }

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

    struct Waiter {
        var id: UInt64
        var continuation: CheckedContinuation<Void, Never>
    }

    /// The number of places.
    private let limit: Int
    /// The number of places that must be free before waiting callers are admitted, while the loop is busy.
    private let admission: Int
    /// After this many reports without more free places, waiting callers are admitted even to fewer places.
    private static let stallLimit = 4
    private let state = Mutex(State())

    init(limit: Int) {
        self.limit = max(limit, 1)
        self.admission = min(max(self.limit / 16, 1), 256)
    }

    // MARK: Callers

    /// The result of an offer.
    enum Answer {
        case closed
        /// There is no free place.
        case full
        /// The notifications that fit were taken. If `isNews`, the loop must be woken.
        case taken(isNews: Bool)
    }

    /// Takes as many notifications from the front of `batch` as there are free places.
    func offer(_ batch: inout PushBatch) -> Answer {
        self.state.withLock { state in
            guard !state.isClosed else { return .closed }
            let room = self.limit - state.handedOver - state.occupied
            guard room > 0 else { return .full }
            guard !batch.isEmpty else { return .taken(isNews: false) }
            state.flushAwaited()
            state.take(batch.takeFirst(room))
            return .taken(isNews: state.announce())
        }
    }

    /// Takes one notification that a task awaits, if a place is free.
    func offer(_ notification: PushNotification, to destination: PushDestination, awaited tag: UInt64) -> Answer {
        self.state.withLock { state in
            guard !state.isClosed else { return .closed }
            guard state.handedOver + state.occupied < self.limit else { return .full }
            do {
                try state.awaited.append(notification, to: destination, tag: tag, fields: .awaited)
            } catch {
                // A batch refuses a notification only at 4 GiB. After the flush `awaited` is empty and accepts it.
                state.flushAwaited()
                return .full
            }
            state.handedOver += 1
            return .taken(isNews: state.announce())
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
                    let hasRoom = state.handedOver + state.occupied < self.limit
                    guard !state.isClosed, !hasRoom, !Task.isCancelled else { return false }
                    state.waiters.append(Waiter(id: id, continuation: continuation))
                    return true
                }
                if !waits { continuation.resume() }
            }
        } onCancel: {
            let waiter = self.state.withLock { state -> Waiter? in
                guard let index = state.waiters.index(of: id) else { return nil }
                return state.waiters.remove(at: index)
            }
            waiter?.continuation.resume()
        }
    }

    /// Asks the loop to withdraw an awaited notification that was not written yet. Returns whether the loop must be
    /// woken.
    func withdraw(_ tag: UInt64) -> Bool {
        self.state.withLock { state in
            state.delivery.withdrawn.append(tag)
            return state.announce()
        }
    }

    // MARK: The loop

    /// Takes everything that callers handed over. The notifications keep their places until
    /// ``occupy(queued:delayed:unread:)``.
    func collect() -> Delivery {
        self.state.withLock { state in
            state.isAnnounced = false
            state.flushAwaited()
            state.occupied += state.handedOver
            state.handedOver = 0
            defer { state.delivery = Delivery() }
            return state.delivery
        }
    }

    /// Sets the number of occupied places, and admits waiting callers if enough places are free.
    ///
    /// Waking a task costs more than sending a notification. While many notifications are queued, callers are therefore
    /// admitted only when many places are free: queued notifications leave without help from callers. Unread outcomes
    /// do not count as busy, because the waiting caller may be the one who must read them. Delayed notifications do not
    /// count either. If other callers keep taking the free places, waiting callers are still admitted after a few
    /// reports.
    ///
    /// - Parameter delayed: how many of the queued notifications wait for a later time.
    func occupy(queued: Int, delayed: Int, unread: Int) {
        let isBusy = queued - delayed > self.admission
        self.admit(occupied: queued + unread, when: isBusy ? self.admission : 1)
    }

    /// Admits waiting callers if a place is free.
    func admit() {
        self.admit(occupied: nil, when: 1)
    }

    private func admit(occupied: Int?, when needed: Int) {
        let waiters = self.state.withLock { state -> [Waiter] in
            if let occupied { state.occupied = occupied }
            let room = self.limit - state.handedOver - state.occupied
            guard !state.waiters.isEmpty else { return [] }
            if room <= state.lastRoom { state.stalls += 1 }
            state.lastRoom = room
            guard room >= needed || room > 0 && state.stalls >= Self.stallLimit else { return [] }
            state.stalls = 0
            // Each woken waiter takes at least one place, so wake at most one for each place.
            let woken = Array(state.waiters.prefix(room))
            state.waiters.removeFirst(woken.count)
            return woken
        }
        for waiter in waiters { waiter.continuation.resume() }
    }

    /// Closes the queue and resumes all waiting callers.
    func close() {
        let waiters = self.state.withLock { state in
            state.isClosed = true
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.continuation.resume() }
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
