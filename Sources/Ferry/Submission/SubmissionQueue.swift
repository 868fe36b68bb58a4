internal import DequeModule
internal import FerryCore
internal import Synchronization

/// Where callers on any thread hand notifications to a provider's event loop, and wait while it has no room.
///
/// A place is taken when a notification is, and is free again when the notification was written, or when its outcome
/// was delivered if that had to wait for a reader.
final class SubmissionQueue: Sendable {
    /// What a caller handed over since the loop last looked.
    struct Delivery: Sendable {
        var runs: [BatchRun] = []
        /// The tags of awaited notifications whose task was cancelled.
        var withdrawn: [UInt64] = []
    }

    private struct State: ~Copyable {
        var delivery = Delivery()
        /// Awaited notifications that are not in a run of `delivery` yet: one piece of memory for many of them.
        var awaited = PushBatch()
        /// Notifications in `delivery`.
        var handedOver = 0
        /// Places that the loop says are taken.
        var occupied = 0
        /// Whether the loop was told that there is a delivery.
        var isAnnounced = false
        var isClosed = false
        var waiters: Deque<Waiter> = []
        var nextWaiter: UInt64 = 0
        /// How many places were free when the loop last said how many are taken.
        var lastRoom = 0
        /// How often, while callers waited, there were no more than the time before.
        var stalls = 0

        mutating func take(_ run: BatchRun) {
            self.delivery.runs.append(run)
            self.handedOver += run.count
        }

        /// Puts the awaited notifications in line before what comes next.
        mutating func flushAwaited() {
            guard !self.awaited.isEmpty else { return }
            self.delivery.runs.append(self.awaited.takeFirst(self.awaited.count))
        }

        /// Whether the loop must be told.
        mutating func announce() -> Bool {
            defer { self.isAnnounced = true }
            return !self.isAnnounced
        }
    }

    struct Waiter {
        var id: UInt64
        var continuation: CheckedContinuation<Void, Never>
    }

    /// How many notifications may have a place.
    private let limit: Int
    /// How many places are free before callers are let in.
    private let admission: Int
    /// So often the number of free places may stay behind while callers wait for it to grow.
    private static let stallLimit = 4
    private let state = Mutex(State())

    init(limit: Int) {
        self.limit = max(limit, 1)
        self.admission = min(max(self.limit / 16, 1), 256)
    }

    // MARK: Callers

    /// What came of an offer.
    enum Answer {
        case closed
        /// There is no room.
        case full
        /// What there was room for was taken. If `isNews`, the loop must be woken.
        case taken(isNews: Bool)
    }

    /// Takes what there is room for.
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

    /// Takes one notification that a task awaits, if there is room.
    func offer(_ notification: PushNotification, to device: DeviceToken, awaited tag: UInt64) -> Answer {
        self.state.withLock { state in
            guard !state.isClosed else { return .closed }
            guard state.handedOver + state.occupied < self.limit else { return .full }
            do {
                try state.awaited.append(notification, to: device, tag: tag, fields: .awaited)
            } catch {
                // Only a batch of 4 GiB is refused, and an empty one takes everything.
                state.flushAwaited()
                return .full
            }
            state.handedOver += 1
            return .taken(isNews: state.announce())
        }
    }

    /// Waits until there may be room, the queue is closed or the task is cancelled.
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

    /// Asks the loop to withdraw an awaited notification, if that was not written yet; true if it must be woken.
    func withdraw(_ tag: UInt64) -> Bool {
        self.state.withLock { state in
            state.delivery.withdrawn.append(tag)
            return state.announce()
        }
    }

    // MARK: The loop

    /// Takes what was handed over. Its notifications keep their places until ``occupy(queued:unread:)``.
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

    /// Says how many places are taken, and lets callers in if there is room for some.
    ///
    /// To wake a task costs more than to send a notification, so callers are let in for many at a time while many are
    /// queued, which leave by themselves. Unread outcomes do not: who waits may be the one who is to read them. Nor do
    /// delayed notifications. Where others take the places that become free, those who wait are not held back.
    ///
    /// - Parameter delayed: how many of those queued wait for a time to come.
    func occupy(queued: Int, delayed: Int, unread: Int) {
        let isBusy = queued - delayed > self.admission
        self.admit(occupied: queued + unread, when: isBusy ? self.admission : 1)
    }

    /// Lets callers in if there is room.
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
            // Each waiter takes at least one place; more than there are places need not be woken.
            let woken = Array(state.waiters.prefix(room))
            state.waiters.removeFirst(woken.count)
            return woken
        }
        for waiter in waiters { waiter.continuation.resume() }
    }

    /// Takes nothing more, and lets everyone go who waits.
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
    /// The place of a waiter, by halving: a storm of cancellations must not search the whole line each time.
    ///
    /// Numbers are given outside the line, so two neighbours may have changed places; then the line is searched.
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
