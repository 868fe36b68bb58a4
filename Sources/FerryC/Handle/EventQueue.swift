internal import Ferry
internal import FerryCore

/// The unread events of one handle, as JSON.
final class EventQueue: Sendable {
    private struct State {
        let events: ProviderEvents
        /// An event that did not fit into the reader's memory.
        var waiting: [UInt8] = []

        mutating func next() -> [UInt8]? {
            if !self.waiting.isEmpty { return self.waiting }
            return self.events.takeNow().map { [UInt8](json: $0) }
        }
    }

    private let state: Monitor<State>

    init(of provider: ProviderBody, limit: Int, mailbox: Mailbox) {
        self.state = Monitor(State(events: provider.events(bufferingNewest: limit) { mailbox.eventCame() }))
    }

    /// Copies the next event to `target`. An event that does not fit stays unread.
    ///
    /// - Returns: the length of the event, 0 if no event is unread; and whether more events are unread.
    func read(into target: UnsafeMutableRawBufferPointer) -> (length: Int, isMore: Bool) {
        self.state.withLock { state in
            guard let event = state.next() else { return (0, false) }
            guard event.count <= target.count else {
                state.waiting = event
                return (event.count, true)
            }
            target.copyBytes(from: event)
            state.waiting = []
            return (event.count, state.events.hasUnread)
        }
    }
}
