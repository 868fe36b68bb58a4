internal import NIOCore

/// The number of requests that may be under way on a connection. It is the least of four bounds: SETTINGS, the user's
/// option, the earned window, and the refusals of the peer.
struct StreamWindow {
    /// Whether APNs allows one stream until it has accepted a token. It does with provider tokens.
    private let startsWithOne: Bool
    /// `maxStreams`
    private let limit: Int
    private(set) var settings: PeerSettings
    /// The bound by refusals: halved when the peer refuses a stream, raised by one for each window of answers.
    private var adapted: Int
    /// The bound by the ``EarnedWindow``.
    private var earned: Int
    private var answersToGrow: Int
    private var isAuthenticated = false

    init(limit: Int, earned: Int, startsWithOne: Bool, settings: PeerSettings) {
        self.limit = limit
        self.adapted = limit
        self.earned = earned
        self.startsWithOne = startsWithOne
        self.settings = settings
        self.answersToGrow = startsWithOne ? 1 : earned
    }

    /// The number of requests that may be under way. Before SETTINGS arrive, only one stream is safe.
    var size: Int {
        guard let allowed = self.settings.limit else { return 1 }
        return min(allowed, self.isAuthenticated || !self.startsWithOne ? min(self.adapted, self.earned) : 1)
    }

    /// Whether the earned window is below the user's limit.
    var isEarning: Bool { self.earned < self.limit }

    /// Notes SETTINGS with a limit of streams.
    mutating func settingsCame(_ limit: Int, now: NIODeadline) { self.settings.came(limit, now: now) }

    /// Notes that requests may be written now.
    mutating func writing() { self.settings.writing() }

    /// Takes the bound by the ``EarnedWindow``. Another window of answers begins.
    mutating func earn(_ size: Int) {
        self.earned = size
        self.answersToGrow = min(self.adapted, self.earned)
    }

    /// Notes an answer that does not blame the provider token; returns true when it completes a window of answers.
    mutating func answered() -> Bool {
        self.isAuthenticated = true
        self.answersToGrow -= 1
        guard self.answersToGrow <= 0 else { return false }
        if self.adapted < self.limit { self.adapted += 1 }
        self.answersToGrow = min(self.adapted, self.earned)
        return true
    }

    /// Notes that the peer refused a stream.
    mutating func refused() {
        self.adapted = max(min(self.adapted, self.earned, self.settings.limit ?? 1) / 2, 1)
        self.answersToGrow = self.adapted
    }
}
