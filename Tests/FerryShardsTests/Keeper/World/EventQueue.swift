import NIOCore

/// Events in the order of their times, and then of their arrival. It is a binary heap of one type: a generic one is slow
/// in a debug build.
struct EventQueue {
    private struct Event {
        var at: UInt64
        var order: Int
        var body: () -> Void

        func isBefore(_ other: Event) -> Bool { self.at == other.at ? self.order < other.order : self.at < other.at }
    }

    private var events: [Event] = []
    private var order = 0

    mutating func add(_ at: NIODeadline, _ body: @escaping () -> Void) {
        self.order += 1
        let event = Event(at: at.uptimeNanoseconds, order: self.order, body: body)
        var index = self.events.count
        self.events.append(event)
        while index > 0 {
            let parent = (index - 1) / 2
            guard event.isBefore(self.events[parent]) else { break }
            self.events[index] = self.events[parent]
            index = parent
        }
        self.events[index] = event
    }

    /// Removes the first event that is due at `end` or earlier.
    mutating func next(until end: NIODeadline) -> (at: NIODeadline, body: () -> Void)? {
        guard let first = self.events.first, first.at <= end.uptimeNanoseconds else { return nil }
        let last = self.events.removeLast()
        if !self.events.isEmpty { self.sink(last) }
        return (.uptimeNanoseconds(first.at), first.body)
    }

    private mutating func sink(_ event: Event) {
        let count = self.events.count
        var index = 0
        while true {
            var child = 2 * index + 1
            guard child < count else { break }
            if child + 1 < count, self.events[child + 1].isBefore(self.events[child]) { child += 1 }
            guard self.events[child].isBefore(event) else { break }
            self.events[index] = self.events[child]
            index = child
        }
        self.events[index] = event
    }
}
