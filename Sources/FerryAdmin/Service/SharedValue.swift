internal import Dispatch

/// A value that is made again only after its lifetime, however many readers ask for it.
///
/// The gateway's event loop makes the snapshot that all readers of the admin service share. Without this actor, a
/// thousand readers would cause a thousand turns of the loop.
package actor SharedValue<Value: Sendable> {
    /// The time for which a value is used.
    private let lifetime: Duration
    private let make: @Sendable () async -> Value
    private var last: (value: Value, at: ContinuousClock.Instant)?
    private var isMaking = false
    /// The readers that wait for the value that is being made. Each is resumed once, when it is removed.
    private(set) var readers: [Int: CheckedContinuation<Value?, Never>] = [:]
    private var lastReader = 0

    package init(lifetime: Duration = .milliseconds(100), _ make: @escaping @Sendable () async -> Value) {
        self.lifetime = lifetime
        self.make = make
    }

    /// Returns the last value if it is fresh, or a new one; nil if no value was made within `limit`.
    ///
    /// The maker of the value may hang: an event loop, or a disk. Without a limit, readers would then keep all
    /// connections of the admin service, and operators could not see what is wrong.
    package func value(within limit: Duration) async -> Value? {
        if let last, ContinuousClock.now - last.at < self.lifetime { return last.value }
        if !self.isMaking { self.begin() }
        self.lastReader += 1
        let reader = self.lastReader
        return await withCheckedContinuation { continuation in
            self.readers[reader] = continuation
            self.scheduleEnd(of: reader, after: limit)
        }
    }

    private func begin() {
        self.isMaking = true
        let make = self.make
        // The task is detached, so that a maker that blocks its thread does not block the readers of this actor.
        Task.detached {
            let value = await make()
            await self.end(value)
        }
    }

    private func end(_ value: Value) {
        self.isMaking = false
        self.last = (value, .now)
        let readers = self.readers
        self.readers = [:]
        for continuation in readers.values { continuation.resume(returning: value) }
    }

    /// The timer is not on an event loop, because an event loop may be the part that hangs.
    private nonisolated func scheduleEnd(of reader: Int, after limit: Duration) {
        let milliseconds = Int(limit / .milliseconds(1))
        DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(milliseconds)) { [weak self] in
            guard let self else { return }
            Task { await self.giveUp(reader) }
        }
    }

    private func giveUp(_ reader: Int) { self.readers.removeValue(forKey: reader)?.resume(returning: nil) }
}
