internal import FerryCore

/// An event that a test waits for.
package final class Signal: Sendable {
    private let stream = AsyncStream<Void>.makeStream()

    package init() {}

    package func set() { self.stream.continuation.yield() }

    package func wait() async {
        for await _ in self.stream.stream { return }
    }
}

/// Numbers that were seen.
package final class Seen: Sendable {
    private let numbers = Locked<Set<Int>>([])

    package init() {}

    package func isFirst(_ number: Int) -> Bool { self.numbers.withLock { $0.insert(number).inserted } }
}

/// Values in the order of their arrival.
package final class Collected<Value: Sendable>: Sendable {
    private let values = Locked<[Value]>([])

    package init() {}

    package var all: [Value] { self.values.withLock { $0 } }

    package func append(_ value: Value) { self.values.withLock { $0.append(value) } }
}
