internal import NIOCore

/// How many requests may be under way on a connection: the least of what SETTINGS allow, what the user allows, what
/// connections have earned, and what the peer has shown that it takes.
struct StreamWindow {
    /// With provider tokens APNs takes one stream until it has accepted a token.
    private let startsWithOne: Bool
    /// `maxStreams`
    private let limit: Int
    private(set) var settings: PeerSettings
    /// Halved when the peer refuses a stream, grown by one for each window of answers.
    private var adapted: Int
    /// What the ``EarnedWindow`` allows.
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

    /// Before SETTINGS came, one stream is safe.
    var size: Int {
        guard let allowed = self.settings.limit else { return 1 }
        return min(allowed, self.isAuthenticated || !self.startsWithOne ? min(self.adapted, self.earned) : 1)
    }

    /// Whether the earned window holds this one back.
    var isEarning: Bool { self.earned < self.limit }

    /// SETTINGS came that allow so many streams.
    mutating func settingsCame(_ limit: Int, now: NIODeadline) { self.settings.came(limit, now: now) }

    /// Requests may be written now.
    mutating func writing() { self.settings.writing() }

    /// Takes what the ``EarnedWindow`` allows. Another window of answers begins.
    mutating func earn(_ size: Int) {
        self.earned = size
        self.answersToGrow = min(self.adapted, self.earned)
    }

    /// Notes an answer that does not blame the provider token; true when it completes a window of answers.
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
