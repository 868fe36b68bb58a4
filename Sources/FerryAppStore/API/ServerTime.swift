package import FerryPlatform

/// The clock and the waits of a client of Apple's server. Tests use another clock, with which a wait takes no time.
package struct ServerTime: Sendable {
    package var now: @Sendable () -> Date
    /// The time since any fixed moment. It never goes back.
    package var elapsed: @Sendable () -> Duration
    package var wait: @Sendable (Duration) async throws -> Void

    package init(
        now: @escaping @Sendable () -> Date,
        elapsed: @escaping @Sendable () -> Duration,
        wait: @escaping @Sendable (Duration) async throws -> Void
    ) {
        self.now = now
        self.elapsed = elapsed
        self.wait = wait
    }

    package static var system: ServerTime {
        let start = ContinuousClock.now
        return ServerTime(
            now: { .now },
            elapsed: { ContinuousClock.now - start },
            wait: { try await Task.sleep(for: $0) }
        )
    }
}
