internal import NIOCore

/// The search for the notifications that make a peer end connections without naming them.
///
/// Suspects are sent again in windows. After a window has been silent for the quiet time, a probe proves it, and the
/// next one follows on a new connection. A failed connection halves the window. So does a proved window that was a part
/// of the last failed one, because the culprit is in the other part. A notification is the culprit if its connection
/// never carried another one. Then each proved window doubles the next one.
///
/// Without probes the next window follows on the same connection. Its silence gives no outcome, because an error
/// response may take longer. When everything that was on the wire at the last failure has been silent, the culprit is
/// elsewhere, and each silent window doubles the next one.
///
/// ```
///          failed, window > 1: halve
///              ┌────────┐
///              ▼        │                                       without probes
///   begin ──▶ window ───┴──▶ alone on a connection, failed: culprit ──▶ end
///              │   ▲                                            │
///              │   └────────────────────────────────────────────┘ with probes
///              └───┘ silent or proved: next window;  every suspect has its outcome ──▶ end
/// ```
struct Isolation {
    /// The number of closes on a lone notification that prove its guilt, if the peer never sends a response.
    static let wordlessProofs = 3

    /// How long a window must be silent until the next one may be written.
    private enum Pace {
        /// The time is doubled at each error without a name after a silent window, because it may have been too short.
        case answered(quietTime: TimeAmount)
        /// A whole settle time. If a peer never sends a response, it is unknown how soon it closes.
        case wordless
    }

    /// The number of notifications that are written at a time.
    private(set) var window: Int
    /// The number of suspects left. They are on the wire or at the front of the queue.
    private(set) var suspects: Int
    /// The number of notifications of the present window that may still be written.
    private(set) var allowance: Int
    /// The number of notifications that were on the wire at the last failure, and have not been silent since.
    private var doubtful: Int
    /// The number of notifications written since the last silence about everything.
    private var unheard = 0
    /// The number of times in a row that the peer closed a connection with a single notification.
    private(set) var closedAlone = 0
    private var pace: Pace
    /// Whether the search has found a culprit, and goes on.
    private(set) var hasFound = false
    /// The first suspects, if a culprit is certainly among them.
    private var guilty: Guilty?

    private struct Guilty {
        /// The number of first suspects at the last failure.
        let all: Int
        /// The number of those that are not yet proved accepted.
        var left: Int

        init(_ count: Int) {
            self.all = count
            self.left = count
        }
    }

    /// - Parameters:
    ///   - suspects: the number of notifications that may be the culprit.
    ///   - progress: the mean number of notifications accepted between two culprits; nil if unknown. The first window
    ///     is not larger. With several culprits, half of the suspects would nearly always hold one, and show nothing.
    ///   - quietTime: the quiet time of the first window; nil if the peer closed without a response.
    ///   - isAmongThem: whether the culprit is certainly one of them.
    init(suspects: Int, progress: Int?, quietTime: TimeAmount?, isAmongThem: Bool) {
        self.window = max(min(suspects / 2, progress ?? .max), 1)
        self.suspects = suspects
        self.doubtful = suspects
        self.allowance = self.window
        self.pace = quietTime.map { .answered(quietTime: $0) } ?? .wordless
        self.guilty = isAmongThem ? Guilty(suspects) : nil
    }

    /// Returns how long a window must be silent, if the settle time is `settleTime`.
    func quietTime(settleTime: TimeAmount) -> TimeAmount {
        switch self.pace {
        case .answered(let quietTime): min(quietTime, settleTime)
        case .wordless: settleTime
        }
    }

    var isWordless: Bool { if case .wordless = self.pace { true } else { false } }

    mutating func wrote(_ count: Int) {
        self.allowance -= count
        self.unheard += count
    }

    /// Notes that everything on the wire was silent for the quiet time, so the next window may follow.
    mutating func cleared(onWire: Int) {
        self.closedAlone = 0
        if self.unheard > 0, self.doubtful <= 0 { self.window = min(self.window * 2, self.suspects) }
        self.doubtful -= self.unheard
        self.unheard = 0
        self.allowance = min(self.window, self.suspects - onWire)
    }

    /// Notes that `count` suspects have their outcome.
    ///
    /// - Parameter isProved: whether the peer proved that it accepted them.
    /// - Returns: the number of notifications among which a culprit was, if the peer has now proved all of them
    ///   accepted.
    mutating func settled(_ count: Int, onWire: Int, isProved: Bool) -> Int? {
        self.suspects -= count
        let vanished = self.acquit(count, isProved: isProved)
        if onWire == 0 { self.cleared(onWire: 0) }
        return vanished
    }

    /// Halves what is left of the notifications with the culprit, after the first of them were proved.
    private mutating func acquit(_ count: Int, isProved: Bool) -> Int? {
        guard count > 0, var guilty = self.guilty else { return nil }
        self.guilty = nil
        guard isProved else { return nil }
        guilty.left -= count
        guard guilty.left > 0 else { return guilty.all }
        self.window = max(guilty.left / 2, 1)
        self.guilty = guilty
        return nil
    }

    /// Notes that the culprit was found and is no longer a suspect.
    ///
    /// - Parameter progress: the mean number of notifications accepted between two culprits; nil if unknown.
    mutating func found(progress: Int?) {
        self.hasFound = true
        self.suspects -= 1
        self.doubtful = 0
        self.guilty = nil
        self.closedAlone = 0
        self.window = max(min((progress ?? .max) / 3 * 2, self.suspects), 1)
    }

    /// Notes that the connection failed with `onWire` suspects on it.
    ///
    /// - Parameters:
    ///   - wasLate: whether the error may be about a window that was silent before.
    ///   - isAmongThem: whether the culprit is certainly one of them.
    mutating func failed(onWire: Int, isWordless: Bool, wasLate: Bool, isAmongThem: Bool) {
        self.guilty = isAmongThem ? Guilty(onWire) : nil
        switch self.pace {
        case _ where isWordless: self.pace = .wordless
        case .answered where !wasLate: break
        case .answered(let quietTime):
            self.pace = .answered(quietTime: min(quietTime + quietTime, ErrorDelay.settleTimeCap))
        case .wordless: break
        }
        self.suspects = max(self.suspects, onWire)
        self.doubtful = onWire
        self.closedAlone = onWire == 1 ? self.closedAlone + 1 : 0
        self.window = max(min(self.window, onWire) / 2, 1)
    }

    /// Notes that the next connection begins with a new window.
    mutating func restart() {
        self.unheard = 0
        self.allowance = min(self.window, self.suspects)
    }

    var isOver: Bool { self.suspects <= 0 }
}
