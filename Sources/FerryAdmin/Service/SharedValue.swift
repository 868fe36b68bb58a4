internal import Dispatch
internal import FerryCore

/// A value that is made anew only after its lifetime, however many ask for it.
///
/// The gateway's event loop makes the snapshot that all readers of the admin service share. Without this, a thousand
/// readers would be a thousand turns of the loop.
package actor SharedValue<Value: Sendable> {
    /// How long a value serves.
    private let lifetime: Duration
    private let make: @Sendable () async -> Value
    private var last: (value: Value, at: ContinuousClock.Instant)?
    private var making: Task<Value, Never>?

    package init(lifetime: Duration = .milliseconds(100), _ make: @escaping @Sendable () async -> Value) {
        self.lifetime = lifetime
        self.make = make
    }

    /// The last value if it is fresh, or a new one; nil if there is none within `limit`.
    ///
    /// What makes the value may hang: an event loop, or a disk. Without a limit, readers would then keep all connections
    /// of the admin service, and nobody could ask what is wrong.
    package func value(within limit: Duration) async -> Value? {
        if let last, ContinuousClock.now - last.at < self.lifetime { return last.value }
        return await Self.result(of: self.making ?? self.begin(), within: limit)
    }

    private func begin() -> Task<Value, Never> {
        let make = self.make
        let task = Task {
            let value = await make()
            self.end(value)
            return value
        }
        self.making = task
        return task
    }

    private func end(_ value: Value) {
        self.making = nil
        self.last = (value, .now)
    }

    private static func result(of task: Task<Value, Never>, within limit: Duration) async -> Value? {
        await withCheckedContinuation { continuation in
            let waiting = Answer(continuation)
            Task { waiting.give(await task.value) }
            // Not on an event loop, because that may be what hangs.
            let milliseconds = Int(limit / .milliseconds(1))
            DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(milliseconds)) { waiting.give(nil) }
        }
    }

    /// A continuation that is resumed once.
    private final class Answer: Sendable {
        private let continuation: Locked<CheckedContinuation<Value?, Never>?>

        init(_ continuation: CheckedContinuation<Value?, Never>) {
            self.continuation = Locked<CheckedContinuation<Value?, Never>?>(continuation)
        }

        func give(_ value: Value?) { self.continuation.withLock { $0.take() }?.resume(returning: value) }
    }
}
