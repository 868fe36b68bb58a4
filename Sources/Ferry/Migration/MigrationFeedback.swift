public import FerryCore

/// The devices that no longer have the app, of both protocols: ``MigratingProvider/feedback(bufferingNewest:)``.
///
/// It holds at most the given number of unread devices. Beyond that the oldest are dropped, and ``Element/dropped(_:)``
/// has their number. It ends with the provider, and is for one consumer, like ``ProviderEvents``.
public struct MigrationFeedback: AsyncSequence, Sendable {
    /// One device, or the number of those that were lost.
    @nonexhaustive
    public enum Element: Sendable, Hashable {
        /// A device no longer has the app.
        case gone(GoneDevice)
        /// This many were dropped, because they were not read in time.
        case dropped(Int)
    }

    /// Reading never fails.
    public typealias Failure = Never

    private let events: ProviderEvents

    init(_ events: ProviderEvents) {
        self.events = events
    }

    /// Returns an iterator. All iterators read from the same subscription: each device goes to one of them.
    public func makeAsyncIterator() -> Iterator { Iterator(events: self.events.makeAsyncIterator()) }

    /// An iterator over the subscription. Any task.
    public struct Iterator: AsyncIteratorProtocol {
        private var events: ProviderEvents.Iterator

        fileprivate init(events: ProviderEvents.Iterator) {
            self.events = events
        }

        /// Returns the next device; nil when the provider has ended, or the task was cancelled.
        public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async -> Element? {
            await self.next()
        }

        /// Returns the next device; nil when the provider has ended, or the task was cancelled.
        public mutating func next() async -> Element? {
            while let event = await self.events.next() {
                switch event {
                case .migration(.gone(let device)): return .gone(device)
                case .dropped(let count): return .dropped(count)
                // The subscription has no others.
                default: continue
                }
            }
            return nil
        }
    }
}
