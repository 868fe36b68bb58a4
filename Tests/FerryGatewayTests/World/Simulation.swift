import HeapModule
import NIOCore
import Testing

/// Virtual time: events happen in the order of their times, and no test waits.
final class Simulation {
    private struct Event: Comparable {
        var at: NIODeadline
        var order: Int
        var body: () -> Void

        static func < (left: Event, right: Event) -> Bool { (left.at, left.order) < (right.at, right.order) }
        static func == (left: Event, right: Event) -> Bool { left.order == right.order }
    }

    /// How often in a row the same moment may pass. An event loop with a deadline that nothing changes would never rest.
    private static let patience = 1000

    static let start = NIODeadline.uptimeNanoseconds(1_000_000_000_000)

    private(set) var now = Simulation.start
    private var events = Heap<Event>()
    private var order = 0

    func at(_ time: NIODeadline, _ body: @escaping () -> Void) {
        self.order += 1
        self.events.insert(Event(at: max(time, self.now), order: self.order, body: body))
    }

    func after(_ time: TimeAmount, _ body: @escaping () -> Void) { self.at(self.now + time, body) }

    /// Calls `body` with each event's time until `end`; events and the deadlines of `nextDeadline` alternate in order.
    func run(until end: NIODeadline, nextDeadline: () -> NIODeadline?, timePassed: () -> Void, afterEach: () -> Void) {
        var idle = 0
        while true {
            let deadline = nextDeadline() ?? .distantFuture
            let next = min(self.events.min?.at ?? .distantFuture, deadline)
            guard next <= end else { break }
            if next > self.now { idle = 0 }
            self.now = max(self.now, next)
            if let event = self.events.min, event.at <= self.now {
                self.events.removeMin()
                event.body()
                idle = 0
            } else {
                timePassed()
                idle += 1
                guard idle < Self.patience else {
                    Issue.record("something is due at \(deadline) again and again, and nothing is done about it")
                    break
                }
            }
            afterEach()
        }
        self.now = max(self.now, end)
    }
}
