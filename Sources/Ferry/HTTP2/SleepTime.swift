internal import NIOCore

/// How long the computer has slept since this value was made. NIO's clock stands still during sleep, but a provider
/// token ages.
struct SleepTime: Sendable {
    private let start = ContinuousClock.now
    private let startAwake = NIODeadline.now()

    /// The time in whole seconds. Rounding hides the delay between the two clock readings.
    var total: TimeAmount {
        let passed = TimeAmount(ContinuousClock.now - self.start)
        let awake = NIODeadline.now() - self.startAwake
        return .seconds(max((passed - awake).nanoseconds, 0) / 1_000_000_000)
    }
}
