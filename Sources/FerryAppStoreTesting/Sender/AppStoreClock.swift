public import FerryPlatform

/// The clock of a simulated App Store.
public enum AppStoreClock: Sendable {
    /// Time stands still while posts are under way, and jumps to the next attempt when none is: 157 hours of retries take
    /// as long as their posts.
    case jumping(from: Date)
    /// Time runs, `speed` times as fast as real time.
    case running(speed: Double)

    /// Real time.
    public static var real: Self { .running(speed: 1) }
}

/// A clock that was started.
struct StartedClock: Sendable {
    private enum Kind: Sendable {
        case jumping
        case running(speed: Double, since: ContinuousClock.Instant)
    }

    private let kind: Kind
    private var base: Date

    init(_ clock: AppStoreClock) {
        switch clock {
        case .jumping(let date):
            self.kind = .jumping
            self.base = date
        case .running(let speed):
            self.kind = .running(speed: max(speed, 0.001), since: .now)
            self.base = Date()
        }
    }

    var now: Date {
        switch self.kind {
        case .jumping: self.base
        case .running(let speed, let start): self.base.addingTimeInterval((.now - start) / .seconds(1) * speed)
        }
    }

    /// How long `date` is ahead in real time; nil: this clock can jump there.
    func wait(for date: Date) -> Duration? {
        switch self.kind {
        case .jumping: nil
        case .running(let speed, _): .seconds(max(0, date.timeIntervalSince(self.now) / speed))
        }
    }

    /// Goes to `date`, if this clock jumps and it is ahead.
    mutating func jump(to date: Date) {
        if case .jumping = self.kind { self.base = max(self.base, date) }
    }
}
