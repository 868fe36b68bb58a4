#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
#endif

/// The time that a client of Apple's server lives in. Tests have one of their own, in which waiting takes none.
package struct ServerTime: Sendable {
    package var now: @Sendable () -> Date
    /// Never runs back, from any beginning.
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
