internal import NIOCore

/// How long the machine has slept since this was made: NIO's clock stands still meanwhile, and a provider token ages.
struct SleepTime: Sendable {
    private let start = ContinuousClock.now
    private let startAwake = NIODeadline.now()

    /// In whole seconds, so that the time between two readings of a clock does not show.
    var total: TimeAmount {
        let passed = TimeAmount(ContinuousClock.now - self.start)
        let awake = NIODeadline.now() - self.startAwake
        return .seconds(max((passed - awake).nanoseconds, 0) / 1_000_000_000)
    }
}
