internal import NIOCore

/// All limits and times of the gateway's machines, each with its purpose.
enum GatewayBounds {
    // MARK: The replay filter

    /// The entries that one identity may have. Above it the oldest whole episode goes: a double, never a swallow.
    static let entriesPerIdentity = 1_000_000
    /// The entries of all identities together.
    static let entries = 4_000_000
    /// The scopes that are remembered, open connections apart. Beyond it, the client that was gone first is unknown when it
    /// comes back.
    static let scopes = 10_000
    /// The open episodes of one scope. Each costs one table look-up for each notification.
    static let episodesPerScope = 256
    /// The entries with the same key that one look-up compares. Only a client that repeats itself has more than one.
    static let equalKeys = 64

    /// How long an episode lives after its last match, or after a copy of another episode whose follower it had, too. A
    /// client that re-sends does so without a pause.
    static let matchedLifetime: TimeAmount = .seconds(20)
    /// How long an episode without a match lives after its drain. A client of unknown class that repeats itself on new
    /// connections would otherwise lose its repeats.
    static let unmatchedLifetime: TimeAmount = .seconds(60)
    /// The same for a client that is known to re-send: its caller may retry late. Copies of other episodes make no
    /// episode live longer than this.
    static let provenLifetime: TimeAmount = .minutes(10)
    /// The matches that show from which follower on a client re-sends. One match may be a deliberate repeat.
    static let matchesThatTrim = 3
    /// How far before those matches entries stay, because clients reorder what they re-send.
    static let trimDistance = 64
    /// How long trimmed entries stay. Some clients send the last followers first, and the others right after them; copies
    /// may come on several connections, or of several episodes.
    static let trimDelay: TimeAmount = .seconds(2)
    /// The notifications in a row that are no copies, after which a single one that equals a follower is not taken for its
    /// copy. Copies come in a row: a client that sends them later doubles one.
    static let doubtAfter = 3
    /// How long after an error response, or a copy, there is no doubt on a connection that was open then. What the client
    /// had written there before comes first.
    static let doubtDelay: TimeAmount = .seconds(2)
    /// The first followers that have to come again in a row on the connection that was told, under new identifiers, before
    /// they count as copies, or the followers that have to come on other connections: a program may repeat itself on
    /// purpose. Those before are doubled. For frames like those of Pushy, which is known for it, one is enough. As many
    /// copies in a row, under their old identifiers, show behind the drain that the very last follower may come next.
    static let circle = 3
    /// The last followers of an episode, by which the class is judged: a small cache still has them.
    static let evidence = 32
    /// An episode with fewer entries is no miss if at least one matched.
    static let missFloor = 4
    /// The smallest cache of a client that re-sends. No evidence makes a client's reach smaller.
    static let smallestCache = 50
    /// The misses in a row after which a client counts as one that never re-sends.
    static let missLimit = 2
    /// The time for copies on the connection that was told: a path, or a balancer, may bring the error response late.
    static let ownCopies: TimeAmount = .seconds(30)
    /// The followers that may be missing between two copies of a row, and before the first one of Pushy: they expired in
    /// the client's cache, or came elsewhere.
    static let leftOut = 3
    /// The round trips that a client needs before its first copy comes on a new connection. An episode without a match lives
    /// as much longer.
    static let reconnection: Int64 = 6

    /// The age of the notifications that a client may send again after a crash. Its episode lives as long.
    static let crashLifetime: TimeAmount = .seconds(60)
    /// The notifications of one connection that are kept for a crash.
    static let crashFrames = followers
    /// The notifications that may match no episode of a crash, at the beginning of a new connection and within a row of
    /// copies.
    static let crashMisses = 3
    /// The length of a row of copies that ends an episode of a crash when it reaches the last notification.
    static let crashRow = 3

    /// Swallowed copies for each new notification, over ``amplificationTime``. More copies would cost more than the
    /// error responses are worth.
    static let amplification = 3
    static let amplificationTime: TimeAmount = .seconds(10)

    // MARK: The ledger

    /// A notification that is unresolved so long after it was read is released: a slow device must not hold up what is
    /// behind it, and old clients wait seconds for silence.
    static let release: TimeAmount = .seconds(2)
    /// The first window. It bounds memory and latency, so the exact number matters little.
    static let window = 1024
    /// Each device that is slow must not stop the reading of the next.
    static let windowFloor = 16
    static let windowCap = 65_536
    /// The window grows with each notification that is resolved within this time, and shrinks above ``slow``.
    static let quick: TimeAmount = .milliseconds(500)
    static let slow: TimeAmount = .seconds(1)
    /// The bytes of unresolved notifications on one connection.
    static let windowBytes = 4 << 20
    /// The ranges of identifiers that one connection keeps. A client that counts needs one.
    static let identifierRanges = 64
    /// The identifiers that came more than once on one connection, after which all count as repeated.
    static let repeatedIdentifiers = 1024
    /// The notifications that one connection keeps: those that are unresolved, and those after a rejection that waits.
    /// The largest cache of an old client has 100,000.
    static let followers = 131_072

    // MARK: The connection

    /// The round trip of a connection that was not measured yet: the slowest for which the rules were tried.
    static let unknownRoundTrip: TimeAmount = .milliseconds(300)
    /// The silence, beyond two round trips, after which a client of unknown class has sent everything. Retransmission
    /// takes 200 ms, so a shorter pause may lie between two flights of data.
    static let unknownCalm: TimeAmount = .milliseconds(250)
    /// The same for a client that re-sends: it loses nothing when it is told in the middle of a flow.
    static let provenCalm: TimeAmount = .milliseconds(50)
    /// The silence behind the only notification of a client that opens a connection for each one. Some such clients
    /// wait for 200 ms only.
    static let singleCalm: TimeAmount = .milliseconds(50)
    /// A client that opens a connection for each notification ends it within this time. One that stays waits for its next
    /// notification.
    static let single: TimeAmount = .seconds(10)
    /// The notifications that may come in that time. The smallest cache of a client that re-sends has 50.
    static let calmFrames = 40
    /// The age of a connection of unknown class above which a slow flow counts as calm.
    static let steadyAge: TimeAmount = .seconds(5)
    /// How old a notification may be when an error response names it. Some clients wait 3 s, and no longer.
    static let age: TimeAmount = .milliseconds(2500)
    /// How long an error response waits for the journal.
    static let journal: TimeAmount = .seconds(1)
    /// How long the output stays open behind an error response, beyond a round trip. Go's libraries that read both at once
    /// take the end for an error, and drop the response.
    static let outputDelay: TimeAmount = .milliseconds(200)
    /// The silence, beyond a round trip, after which the output is closed. A library that writes when the end comes may die of
    /// it, with all that it had to write. Retransmission takes as long.
    static let outputQuiet: TimeAmount = .milliseconds(200)
    /// How long a drain may last.
    static let drain: TimeAmount = .seconds(5)
    /// How long a drain waits for the next byte; three round trips if they are longer.
    static let drainQuiet: TimeAmount = .seconds(1)
    /// How long a connection that was told, and whose client writes on, must be silent before it is closed.
    static let deafQuiet: TimeAmount = .seconds(30)
    /// How long bytes are read and discarded after a violation of the protocol. Without this time, the reset would
    /// destroy the client's unread input.
    static let ignore: TimeAmount = .seconds(5)
    /// The silence, beyond two round trips, after which status 10 is written.
    static let shutdownQuiet: TimeAmount = .milliseconds(200)
    /// How long a shutdown waits for that silence, and for results.
    static let shutdown: TimeAmount = .seconds(10)
    /// A client that was idle for so long has forgotten its last notification: it gets a plain close.
    static let idle: TimeAmount = .minutes(1)
    /// How long a full window may stop the reading before the connection ends. Old clients wait 10 s for a write, so
    /// that nothing may hold them longer than 8 s: this time, ``journal`` and ``drainQuiet`` together.
    static let stop: TimeAmount = .seconds(6)

    /// The notifications that wait for their last answer.
    enum Jobs {
        /// The notifications that may wait for their last answer, all clients together.
        static let count = 1_000_000
        /// Their bytes, device tokens and payloads.
        static let bytes = 512 << 20
        /// The notifications that an upstream is offered at once.
        static let batch = 256
        /// The rejections that may still be told.
        static let rejections = 1_000_000

        /// How long a notification goes out again when it has no expiration: an outage of APNs must not lose it.
        static let lifetime: TimeAmount = .hours(1)
        /// The back-off doubles from the first to the last.
        static let firstRetry: TimeAmount = .seconds(1)
        static let lastRetry: TimeAmount = .minutes(1)
        /// The same for a device that gets too many notifications.
        static let firstBusyRetry: TimeAmount = .seconds(10)
        static let lastBusyRetry: TimeAmount = .minutes(5)
        /// How often a notification goes out again that may have arrived.
        static let unknownCopies = 1
        /// The time that its copy waits for another connection: an outage of APNs may last that long.
        static let otherConnection = Self.lifetime
    }

    /// The journal of notifications in the store.
    enum Journal {
        /// The length at which a segment is committed, in bytes. It is also committed after ``commitTime``. If an action
        /// waits for it and the store is idle, it is committed immediately.
        static let segmentLength = 256 << 10
        static let commitTime: TimeAmount = .milliseconds(10)
        /// The largest number of commits without an answer.
        static let underWay = 16
        /// The time without an answer after which the store counts as in trouble. While a notification has waited for the
        /// store this long, no other is released.
        static let patience: TimeAmount = .seconds(1)
        /// How long the gateway keeps reading while nothing is stored. If the process is killed, notifications from this
        /// time are lost.
        static let outage: TimeAmount = .minutes(1)
        /// The time between two tries while the store refuses commits.
        static let retry: TimeAmount = .seconds(1)

        /// How long a segment stays after its last job was answered. Its frames may be needed after a crash.
        static let lifetime = GatewayBounds.crashLifetime
        /// The oldest segments are written again if less than one job in this number is unanswered.
        static let sparseness = 8
        /// The length of all segments above which segments are dropped even if an open episode needs them. After a kill,
        /// copies of the dropped frames are delivered twice.
        static let pinnedLength = 1 << 30
        static let sweep: TimeAmount = .seconds(1)
        /// The age of the oldest frame that an episode may need. All frames after the one that an error response names were
        /// read within this time. It is the sum of ``GatewayBounds/age`` and
        /// ``GatewayBounds/journal``, rounded up.
        static let episodeAge: TimeAmount = .seconds(4)
        /// The age up to which a client may send frames again after a crash, in seconds.
        static let crashAge = GatewayBounds.crashLifetime.nanoseconds / 1_000_000_000
    }
}
