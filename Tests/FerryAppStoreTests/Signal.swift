import FerryCore

/// An event that a test waits for.
final class Signal: Sendable {
    private let stream = AsyncStream<Void>.makeStream()

    func set() { self.stream.continuation.yield() }

    func wait() async {
        for await _ in self.stream.stream { return }
    }
}

/// Numbers that were seen.
final class Seen: Sendable {
    private let numbers = Locked<Set<Int>>([])

    func isFirst(_ number: Int) -> Bool { self.numbers.withLock { $0.insert(number).inserted } }
}

/// Values in the order of their arrival.
final class Collected<Value: Sendable>: Sendable {
    private let values = Locked<[Value]>([])

    var all: [Value] { self.values.withLock { $0 } }

    func append(_ value: Value) { self.values.withLock { $0.append(value) } }
}
