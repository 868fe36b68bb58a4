internal import Synchronization

/// A subscription to a provider's events.
///
/// Each call of ``PushProvider/events(bufferingNewest:)`` makes one of its own. It holds at most the given number of
/// unread events; of more, the oldest are dropped and their number comes as ``ProviderEvent/dropped(_:)``. It ends
/// when the provider does. For one consumer.
public struct ProviderEvents: AsyncSequence, Sendable {
    public typealias Element = ProviderEvent
    public typealias Failure = Never

    private let buffer: EventBuffer

    init(buffer: EventBuffer) {
        self.buffer = buffer
    }

    public func makeAsyncIterator() -> Iterator {
        Iterator(buffer: self.buffer)
    }

    public struct Iterator: AsyncIteratorProtocol {
        private let buffer: EventBuffer

        init(buffer: EventBuffer) {
            self.buffer = buffer
        }

        /// The next event; nil when the provider has ended, or the task was cancelled.
        public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async -> ProviderEvent? {
            await self.buffer.next()
        }

        public mutating func next() async -> ProviderEvent? {
            await self.buffer.next()
        }
    }
}

/// The subscriptions of one provider. Any thread.
package final class EventHub: Sendable {
    private struct State {
        var buffers: [Weak] = []
        var finished = false
    }

    private struct Weak {
        weak var buffer: EventBuffer?
    }

    private let state = Mutex(State())
    private let subscribers = Atomic<Int>(0)

    package init() {}

    /// False when nobody would read an event: whoever makes them may save the work.
    package var hasSubscribers: Bool { self.subscribers.load(ordering: .relaxed) > 0 }

    package func subscribe(bufferingNewest limit: Int) -> ProviderEvents {
        let buffer = EventBuffer(limit: limit)
        let finished = self.state.withLock { state in
            state.buffers.removeAll { $0.buffer == nil }
            state.buffers.append(Weak(buffer: buffer))
            self.subscribers.store(state.buffers.count, ordering: .relaxed)
            return state.finished
        }
        if finished { buffer.finish() }
        return ProviderEvents(buffer: buffer)
    }

    package func send(_ event: ProviderEvent) {
        for buffer in self.live() {
            buffer.append(event)
        }
    }

    /// Ends every subscription once its unread events were read.
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
                self.subscribers.store(live.count, ordering: .relaxed)
            }
            return live
        }
    }
}

/// The unread events of one subscription.
final class EventBuffer: Sendable {
    private struct State {
        var events: [ProviderEvent] = []
        var head = 0
        var dropped = 0
        var finished = false
        var waiter: CheckedContinuation<ProviderEvent?, Never>?

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

    private let limit: Int
    private let state = Mutex(State())

    init(limit: Int) {
        self.limit = max(limit, 1)
    }

    func append(_ event: ProviderEvent) {
        let waiter = self.state.withLock { state -> CheckedContinuation<ProviderEvent?, Never>? in
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
        waiter?.resume(returning: event)
    }

    func finish() {
        let waiter = self.state.withLock { state in
            state.finished = true
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume(returning: nil)
    }

    func next() async -> ProviderEvent? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                enum Step {
                    case resume(ProviderEvent?)
                    case wait
                }
                let step = self.state.withLock { state -> Step in
                    if let event = state.pop() { return .resume(event) }
                    // A second consumer gets nil at once: it must not displace the first, who would wait for ever.
                    if state.finished || state.waiter != nil || Task.isCancelled { return .resume(nil) }
                    state.waiter = continuation
                    return .wait
                }
                if case .resume(let event) = step { continuation.resume(returning: event) }
            }
        } onCancel: {
            let waiter = self.state.withLock { state in
                defer { state.waiter = nil }
                return state.waiter
            }
            waiter?.resume(returning: nil)
        }
    }
}
