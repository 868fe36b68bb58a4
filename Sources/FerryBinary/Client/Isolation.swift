/// The search for the one notification that makes a peer end connections without naming it.
///
/// What was on the wire is sent again in windows, each followed by a wait for silence. A window that is silent is
/// cleared; one that fails is halved. With one notification on the connection, its guilt is proved.
///
/// ```
///          failed, window > 1: halve
///              ┌────────┐
///              ▼        │
///   begin ──▶ window ───┴──▶ window 1 failed: culprit ──▶ end
///              │   ▲
///              └───┘ silent: next window;  no suspects left ──▶ end
/// ```
struct Isolation {
    /// How often a notification must be closed upon while alone, if the peer never says a word.
    static let wordlessProofs = 3

    /// How many notifications may be on the wire until they are cleared.
    private(set) var window: Int
    /// How many at the front of the queue, or on the wire, may be the culprit.
    private(set) var suspects: Int
    /// How many more of the present window may be written.
    private(set) var allowance: Int
    /// How often the sole notification on the wire was closed upon.
    private(set) var closedAlone = 0
    /// Whether the peer ever closed without a word, so that nothing tells how soon it would.
    private(set) var isWordless: Bool

    /// - Parameter failed: how many notifications were on the wire when the connection failed.
    init(failed: Int, isWordless: Bool) {
        self.isWordless = isWordless
        self.window = max(failed / 2, 1)
        self.suspects = failed
        self.allowance = self.window
    }

    mutating func wrote(_ count: Int) {
        self.allowance -= count
    }

    /// Notes that `count` suspects were cleared; with none of the window left on the wire, the next one may go.
    mutating func cleared(_ count: Int, onWire: Int) {
        self.suspects -= count
        self.closedAlone = 0
        if onWire == 0 { self.allowance = min(self.window, self.suspects) }
    }

    /// Notes that the connection failed with `onWire` notifications on it.
    mutating func failed(onWire: Int, isWordless: Bool) {
        self.isWordless = self.isWordless || isWordless
        self.suspects = max(self.suspects, onWire)
        if onWire == 1 {
            self.closedAlone += 1
        } else {
            self.closedAlone = 0
            self.window = max(min(self.window, onWire) / 2, 1)
        }
    }

    /// Notes that the next connection begins with a window of its own.
    mutating func restart() {
        self.allowance = self.window
    }

    var isOver: Bool { self.suspects <= 0 }
}
