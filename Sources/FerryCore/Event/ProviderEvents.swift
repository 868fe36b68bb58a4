internal import Synchronization

/// A subscription to a provider's events.
///
/// Each call of ``PushProvider/events(bufferingNewest:)`` makes a new one. It holds at most the given number of unread
/// events. Beyond that the oldest are dropped, and ``ProviderEvent/dropped(_:)`` has their number. It ends with the
/// provider.
///
/// For one consumer: each event goes to one reader only. A second one that reads while the first waits gets nil at once,
/// so its loop ends, and the provider logs an error. Subscribe once for each consumer.
public struct ProviderEvents: AsyncSequence, Sendable {
    /// One event.
    public typealias Element = ProviderEvent
    /// Reading never fails.
    public typealias Failure = Never

    private let buffer: EventBuffer

    init(buffer: EventBuffer) {
        self.buffer = buffer
    }

    /// Removes and returns the oldest event; nil if there is none now. For a reader that does not await.
    package func takeNow() -> ProviderEvent? { self.buffer.takeNow() }

    /// Whether an event waits for its reader.
    package var hasUnread: Bool { self.buffer.hasUnread }

    /// Returns an iterator. All iterators read from the same subscription: each event goes to one of them.
    public func makeAsyncIterator() -> Iterator {
        Iterator(buffer: self.buffer)
    }

    /// An iterator over the subscription. Any task.
    public struct Iterator: AsyncIteratorProtocol {
        private let buffer: EventBuffer

        init(buffer: EventBuffer) {
            self.buffer = buffer
        }

        /// Returns the next event; nil when the provider has ended, or the task was cancelled.
        public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async -> ProviderEvent? {
            await self.buffer.next()
        }

        /// Returns the next event; nil when the provider has ended, or the task was cancelled.
        public mutating func next() async -> ProviderEvent? {
            await self.buffer.next()
        }
    }
}

/// The subscriptions of one provider, which end with it. Any thread.
///
/// Events of one thread keep their order. The order of events from several threads may differ between subscriptions. No
/// lock is held while a reader is woken.
package final class EventHub: Sendable {
    private struct State {
        var buffers: [Weak] = []
        var finished = false
    }

    private struct Weak {
        weak var buffer: EventBuffer?
    }

    private let state = Locked(State())
    private let subscribers = Atomic<Int>(0)
    private let transmittedSubscribers = Atomic<Int>(0)

    private let onSecondReader: @Sendable () -> Void

    /// - Parameter onSecondReader: called when a second consumer reads a subscription while the first waits, once for each
    ///   subscription. Any thread.
    package init(onSecondReader: @escaping @Sendable () -> Void = {}) {
        self.onSecondReader = onSecondReader
    }

    deinit {
        self.finish()
    }

    /// Whether anyone would read an event. If not, the provider need not make one.
    package var hasSubscribers: Bool { self.subscribers.load(ordering: .relaxed) > 0 }

    /// Whether anyone would read ``ProviderEvent/transmitted(_:tags:)``, of which there is one for each write.
    package var hasTransmittedSubscribers: Bool { self.transmittedSubscribers.load(ordering: .relaxed) > 0 }

    /// Returns a new subscription, which lives as long as the caller holds it. After ``finish()`` it has already ended.
    ///
    /// - Parameters:
    ///   - interest: the events that the subscription gets.
    ///   - onNews: called on any thread after each event that no reader awaited.
    package func subscribe(
        bufferingNewest limit: Int,
        _ interest: EventInterest = .all,
        onNews: @escaping @Sendable () -> Void = {}
    ) -> ProviderEvents {
        let buffer = EventBuffer(limit: limit, interest, onNews: onNews, onSecondReader: self.onSecondReader)
        let finished = self.state.withLock { state in
            state.buffers.removeAll { $0.buffer == nil }
            state.buffers.append(Weak(buffer: buffer))
            self.count(state.buffers.compactMap(\.buffer))
            return state.finished
        }
        if finished { buffer.finish() }
        return ProviderEvents(buffer: buffer)
    }

    /// Gives `event` to every subscription. Does nothing after ``finish()``.
    ///
    /// - Parameter side: the protocol over which it happened; nil if the provider has only one, or if it concerns both.
    package func send(_ event: ProviderEvent, of side: ProviderSide? = nil) {
        guard self.hasSubscribers else { return }
        for buffer in self.live() where buffer.interest.includes(event, of: side) { buffer.append(event) }
    }

    /// Ends every subscription after its unread events.
    package func finish() {
        self.state.withLock { $0.finished = true }
        for buffer in self.live() {
            buffer.finish()
        }
    }

    private func live() -> [EventBuffer] {
        self.state.withLock { state in
            let live = state.buffers.compactMap(\.buffer)
            if live.count < state.buffers.count {
                state.buffers.removeAll { $0.buffer == nil }
                self.count(live)
            }
            return live
        }
    }

    private func count(_ live: [EventBuffer]) {
        self.subscribers.store(live.count, ordering: .relaxed)
        self.transmittedSubscribers.store(live.count(where: \.interest.includesTransmitted), ordering: .relaxed)
    }
}

/// The events that a subscription gets.
package enum EventInterest: Sendable {
    case all
    /// All events except ``ProviderEvent/transmitted(_:tags:)``, of which there is one for each write.
    case allButTransmitted
    /// The events of one protocol.
    case side(ProviderSide)
    /// The devices that no longer have the app.
    case goneDevices

    fileprivate var includesTransmitted: Bool {
        switch self {
        case .all, .side: true
        case .allButTransmitted, .goneDevices: false
        }
    }

    /// - Parameter side: the protocol over which the event happened; nil if it concerns both, or there is only one.
    fileprivate func includes(_ event: ProviderEvent, of side: ProviderSide?) -> Bool {
        switch self {
        case .all: true
        case .allButTransmitted: if case .transmitted = event { false } else { true }
        case .side(let own): own == side
        case .goneDevices: if case .migration(.gone) = event { true } else { false }
        }
    }
}

/// The unread events of one subscription.
final class EventBuffer: Sendable {
    private typealias Continuation = CheckedContinuation<ProviderEvent?, Never>

    /// A waiting call of `next()`. Without its number, the cancellation of one call could end another.
    private struct Waiter {
        let id: UInt64
        let continuation: Continuation
    }

    private struct State {
        var events: [ProviderEvent] = []
        var head = 0
        var dropped = 0
        var finished = false
        var waiter: Waiter?
        var waiters: UInt64 = 0
        var sawSecondReader = false

        /// Removes and returns the waiter with `id`; nil if it no longer waits.
        mutating func takeWaiter(_ id: UInt64) -> Waiter? {
            self.waiter?.id == id ? self.waiter.take() : nil
        }

        mutating func pop() -> ProviderEvent? {
            if self.dropped > 0 {
                defer { self.dropped = 0 }
                return .dropped(self.dropped)
            }
            guard self.head < self.events.count else { return nil }
            defer {
                self.head += 1
                if self.head * 2 > self.events.count {
                    self.events.removeFirst(self.head)
                    self.head = 0
                }
            }
            return self.events[self.head]
        }
    }

    let interest: EventInterest
    private let limit: Int
    /// Called outside the lock after each event that no reader awaited.
    private let onNews: @Sendable () -> Void
    /// Called outside the lock when a second reader comes for the first time.
    private let onSecondReader: @Sendable () -> Void
    private let state = Locked(State())

    init(
        limit: Int,
        _ interest: EventInterest,
        onNews: @escaping @Sendable () -> Void = {},
        onSecondReader: @escaping @Sendable () -> Void
    ) {
        self.limit = max(limit, 1)
        self.interest = interest
        self.onNews = onNews
        self.onSecondReader = onSecondReader
    }

    func append(_ event: ProviderEvent) {
        let waiter = self.state.withLock { state -> Waiter? in
            guard !state.finished else { return nil }
            if let waiter = state.waiter {
                state.waiter = nil
                return waiter
            }
            if state.events.count - state.head == self.limit {
                state.head += 1
                state.dropped += 1
                if state.head * 2 > state.events.count {
                    state.events.removeFirst(state.head)
                    state.head = 0
                }
            }
            state.events.append(event)
            return nil
        }
        if let waiter { waiter.continuation.resume(returning: event) } else { self.onNews() }
    }

    func takeNow() -> ProviderEvent? { self.state.withLock { $0.pop() } }

    var hasUnread: Bool { self.state.withLock { $0.dropped > 0 || $0.head < $0.events.count } }

    /// Ends the subscription after its unread events.
    func finish() {
        let waiter = self.state.withLock { state in
            state.finished = true
            return state.waiter.take()
        }
        waiter?.continuation.resume(returning: nil)
    }

    func next() async -> ProviderEvent? {
        let id = self.state.withLock { state in
            state.waiters += 1
            return state.waiters
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { self.wait(Waiter(id: id, continuation: $0)) }
        } onCancel: {
            // If this runs before the call waits, the call itself finds that its task was cancelled.
            let waiter = self.state.withLock { $0.takeWaiter(id) }
            waiter?.continuation.resume(returning: nil)
        }
    }

    private func wait(_ waiter: Waiter) {
        enum Step {
            case resume(ProviderEvent?)
            case refuse(isNews: Bool)
            case wait
        }
        let step = self.state.withLock { state -> Step in
            if Task.isCancelled { return .resume(nil) }
            if let event = state.pop() { return .resume(event) }
            if state.finished { return .resume(nil) }
            // A second consumer gets nil at once. If it displaced the first, the first would wait for ever.
            guard state.waiter == nil else {
                defer { state.sawSecondReader = true }
                return .refuse(isNews: !state.sawSecondReader)
            }
            state.waiter = waiter
            return .wait
        }
        switch step {
        case .resume(let event): waiter.continuation.resume(returning: event)
        case .refuse(let isNews):
            if isNews { self.onSecondReader() }
            waiter.continuation.resume(returning: nil)
        case .wait: break
        }
    }
}
