/// A value that is made at most ten times a second, however many ask for it.
///
/// The gateway's event loop makes the snapshot that all readers of the admin service share. Without this, a thousand
/// readers would be a thousand turns of the loop.
package actor SharedValue<Value: Sendable> {
    /// How long a value serves.
    package static var lifetime: Duration { .milliseconds(100) }

    private let make: @Sendable () async -> Value
    private var last: (value: Value, at: ContinuousClock.Instant)?
    private var making: Task<Value, Never>?

    package init(_ make: @escaping @Sendable () async -> Value) { self.make = make }

    /// The last value if it is fresh, or a new one.
    package var value: Value {
        get async {
            if let last, ContinuousClock.now - last.at < Self.lifetime { return last.value }
            if let making { return await making.value }
            let make = self.make
            let task = Task { await make() }
            self.making = task
            let value = await task.value
            self.making = nil
            self.last = (value, .now)
            return value
        }
    }
}
