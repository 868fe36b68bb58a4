/// The times at which an upstream is tried again.
///
/// An upstream is looked at often, because only a trial ends the failure of a lost connection while nobody sends. An
/// upstream that keeps failing is tried after pauses that double, so that a failing server is not asked every few
/// seconds.
struct TrialPace: Sendable {
    /// The time between two looks at an upstream, and the pause after its first failed trial.
    let look: Duration
    /// The longest pause after a failed trial.
    private let longest: Duration
    private var pause: Duration
    private var dueAt: ContinuousClock.Instant?
    /// The number of connections at the last look.
    private var connections = 0

    init(look: Duration = .seconds(5), longest: Duration = .seconds(60)) {
        self.look = look
        self.longest = longest
        self.pause = look
    }

    /// Whether an upstream that awaits a trial gets one now.
    func isDue(at now: ContinuousClock.Instant) -> Bool { self.dueAt.map { $0 <= now } ?? true }

    /// Notes that a trial has failed.
    mutating func failed(at now: ContinuousClock.Instant) {
        self.dueAt = now + self.pause
        self.pause = min(self.pause * 2, self.longest)
    }

    /// Notes a look at the upstream. A connection since the last look counts as a success, even if it is lost
    /// already.
    ///
    /// - Parameter connections: the number of connections that notifications have had so far.
    mutating func looked(isFailing: Bool, connections: Int) {
        if !isFailing || connections > self.connections { self.worked() }
        self.connections = connections
    }

    /// Notes that the upstream works, or has worked since its last failure. Its next failure is followed by the
    /// shortest pause.
    mutating func worked() {
        self.dueAt = nil
        self.pause = self.look
    }
}
