internal import FerryCore
internal import FerryMachine
internal import NIOCore

/// One connection of an ``HTTP2Client``.
///
/// ```
///   opening ───────────▶ open ─────────────────────▶ leaving ─────▶ gone
///   one request,         as many requests as          no new ones;
///   until the first      SETTINGS and the             GOAWAY came, it stayed
///   answer (tokens)      window allow                 silent, or is to be left
/// ```
final class HTTP2Connection {
    let id: ConnectionID
    var session: HTTP2Session
    var inFlight = InFlight()
    var window: StreamWindow
    /// Takes no new requests: it is closed when the last was answered.
    var isLeaving = false
    /// Whether GOAWAY is still to be said.
    var owesGoAway = false
    /// Whether its end was asked for.
    var isFinished = false
    /// Whether it ended, so that nothing is asked for any more.
    var isGone = false
    /// When it is closed if it is still there: it is to be left, and nothing is under way.
    var lingersUntil: NIODeadline?
    /// Whether there was any answer.
    var hasAnswer = false
    /// Whether it was counted as a connection without an answer.
    var isCounted = false
    /// Whether a GOAWAY said ENHANCE_YOUR_CALM.
    var askedForCalm = false
    /// What the peer said last of the connection, or of requests that it did not answer.
    var lastWord: LastWord?
    /// How many answers there were since it began, or since a burst of resets.
    var answered = 0
    /// How many requests the GOAWAYs of the peer excluded.
    var excluded = 0
    /// What is known of the cost of its end.
    var loss: EarnedWindow.Loss?
    var resets = ResetBurst()
    /// What requests have put into the table of HPACK.
    var indexedNames: IndexedNames = []
    /// Where the stream below TLS ends.
    var sentTo: UInt64 = 0
    let since: NIODeadline
    /// When something came or was written last.
    var lastUse: NIODeadline
    /// When the peer answered, refused or reset a request last. Other frames are no sign that it serves any.
    var lastAnswered: NIODeadline
    /// When SETTINGS first allowed no stream since requests could be written last. Streams that are taken back before that
    /// were none.
    var firstClosed: NIODeadline?
    /// When the answer to a PING is due.
    var pingDue: NIODeadline?
    /// Nothing is written before: the peer refuses streams.
    var pausedUntil: NIODeadline?
    var refusals = BackOff(.milliseconds(10) ... .seconds(1))

    init(id: ConnectionID, window: StreamWindow, now: NIODeadline) throws(HTTP2Error) {
        self.id = id
        self.session = try HTTP2Session(role: .client)
        self.window = window
        self.since = now
        self.lastUse = now
        self.lastAnswered = now
    }

    /// Whether a request was written.
    var isUsed: Bool { !self.indexedNames.isEmpty }

    /// Since when SETTINGS allow no stream; nil when they allow some.
    var closedSince: NIODeadline? { self.window.settings == 0 ? self.firstClosed : nil }

    /// How many more requests may be written now.
    var room: Int { self.isLeaving ? 0 : max(self.window.size - self.inFlight.count, 0) }

    /// Whether more connections would help: this one is full, and not because APNs allows one stream only.
    var isSaturated: Bool { self.hasAnswer && self.window.size > 1 && self.room == 0 }
}

/// What a peer says when it does not answer.
enum LastWord {
    case goAway(GoAway)
    case reset(HTTP2ErrorCode)
    case answer(Reason)
    /// It broke the protocol.
    case violation
}

/// Requests that the peer reset one after the other, without an answer in between.
struct ResetBurst {
    private var count = 0
    private var limit = 0

    mutating func answered() { self.count = 0 }

    /// Notes a reset; true once in a burst, when it has cost half of what was under way: then the peer has not failed at
    /// single requests.
    mutating func reset(window: Int) -> Bool {
        if self.count == 0 { self.limit = max(window / 2, 2) }
        self.count += 1
        return self.count == self.limit
    }
}

/// How many requests may be under way on a connection: what SETTINGS allow, what the user allows, what connections have
/// earned, and what the peer showed that it takes.
struct StreamWindow {
    /// With provider tokens APNs takes one stream until it has accepted a token.
    private let startsWithOne: Bool
    private let limit: Int
    /// SETTINGS_MAX_CONCURRENT_STREAMS; nil before SETTINGS came, when one stream is safe.
    private(set) var settings: Int?
    /// Halved when the peer refuses a stream, grown by one for each window of answers.
    private var adapted: Int
    /// What the ``EarnedWindow`` allows. With it, another window of answers begins.
    var earned: Int {
        didSet { self.answersToGrow = min(self.adapted, self.earned) }
    }
    private var answersToGrow: Int
    private var isAuthenticated = false

    init(limit: Int, earned: Int, startsWithOne: Bool) {
        self.limit = limit
        self.adapted = limit
        self.earned = earned
        self.startsWithOne = startsWithOne
        self.answersToGrow = startsWithOne ? 1 : earned
    }

    var size: Int {
        guard let settings else { return 1 }
        return min(settings, self.isAuthenticated || !self.startsWithOne ? min(self.adapted, self.earned) : 1)
    }

    mutating func settingsCame(_ limit: Int) { self.settings = max(limit, 0) }

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
        self.adapted = max(min(self.adapted, self.earned, self.settings ?? 1) / 2, 1)
        self.answersToGrow = self.adapted
    }
}
