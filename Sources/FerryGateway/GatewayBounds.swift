internal import NIOCore

/// The limits and times of the gateway's copies, ledgers, connections, dispatch and journal.
///
/// Some bounds stand in the only type that needs them: a segment of the journal (``Segment/limit``), letters
/// (``LetterShelf``), the list of rejections (``RejectionList``), feedback rows (``FeedbackRows``), strangers
/// (``StrangerOrder``). An idle client has no bound, as `GatewayConnection+Time.swift` says.
enum GatewayBounds {
    // MARK: The replay filter

    /// The largest number of entries of one identity: followers in open episodes, and overtakers. Above it, whole
    /// episodes are dropped. Each time, the scope with the oldest episode drops one; see
    /// ``ReplayFilter/evictEpisode(_:)``. Devices then get copies, but no notification is lost.
    static let entriesPerIdentity = 1_000_000
    /// The largest number of entries of all identities together.
    static let entries = 4_000_000
    /// The largest number of remembered scopes without an open connection. Above it, a quarter of this number is
    /// forgotten, beginning with the scopes that were left first. A scope with an open episode stays. A forgotten
    /// client is unknown when it comes back.
    static let scopes = 10_000
    /// The largest number of open episodes in one scope. Each episode costs one table look-up for each notification.
    static let episodesPerScope = 256
    /// The largest number of entries with the same key that a look-up compares. In most cases, a key has several
    /// entries only if the client repeats itself on purpose.
    static let equalKeys = 64

    /// How long an episode lives after its last match. A match of another episode counts, too, if this episode has a
    /// match already, and has the same follower. A client that re-sends does so without a pause.
    static let matchedLifetime: TimeAmount = .seconds(20)
    /// How long an episode without a match lives after its drain. If it lived longer, deliberate repeats of a client of
    /// unknown class would be swallowed.
    static let unmatchedLifetime: TimeAmount = .seconds(60)
    /// The same time for a client that is known to re-send. It is longer, because the program that uses the client
    /// may retry late. A match of another episode prolongs an episode only within this time from its drain.
    static let provenLifetime: TimeAmount = .minutes(10)
    /// The number of matches that show with which follower a client begins to re-send. A single match may be a
    /// deliberate repeat.
    static let matchesThatTrim = 3
    /// The number of entries before these matches that are not trimmed, because clients reorder the notifications that
    /// they re-send.
    static let trimDistance = 64
    /// How long entries that will be trimmed stay after the last copy, at most ``matchedLifetime``. Some clients send
    /// the last followers first, and the others right after them. Copies may also come on several connections, or for
    /// several episodes.
    static let trimDelay: TimeAmount = .seconds(2)
    /// After this number of new notifications in a row, a single notification that equals a follower does not count
    /// as the follower's copy, because copies come in a row. If a client sends a single copy later, the notification
    /// is delivered twice. A match is not doubted if the client is seen to circle.
    static let doubtAfter = 3
    /// On a connection that was open at the error response, no match is doubted within this time after
    /// ``Episode/lastMatch``. The notifications that the client wrote before it read the response come first there.
    static let doubtDelay: TimeAmount = .seconds(2)
    /// The number of first followers that must come again in a row, under new identifiers on the connection that was
    /// told, before they count as a circle. A program may repeat itself on purpose, so the followers before this
    /// number are delivered twice. In frames like those of Pushy, one follower is enough during the drain, because
    /// Pushy is known to circle. The same number of copies on other connections also proves a circle. After the
    /// drain, a row of the same number of copies under old identifiers shows that the very last follower may come
    /// next.
    static let circle = 3
    /// The number of last followers by which an episode judges the class. Even a small cache still has these followers.
    static let evidence = 32
    /// An episode with fewer followers than this number is no miss if at least one follower came again.
    static let missFloor = 4
    /// The smallest cache of a client that re-sends. No evidence makes a client's ``Reach/limit`` smaller.
    static let smallestCache = 50
    /// The number of misses in a row after which a client counts as one that never re-sends.
    static let missLimit = 2
    /// How long notifications on the connection that got the error response may count as copies. The time begins with
    /// the error response, which the client may receive late.
    static let ownCopies: TimeAmount = .seconds(30)
    /// The number of followers that may be missing between two copies of a row, and before Pushy's first copy. The
    /// missing followers have expired in the client's cache, or came on another connection.
    static let leftOut = 3
    /// The number of round trips that a client needs for its first copy on a new connection. An episode without a
    /// match lives longer by the time of these round trips.
    static let reconnection: Int64 = 6

    /// The largest age of notifications that a client may repeat after a crash. The episode of the crash does not end
    /// earlier for lack of matches.
    static let crashLifetime: TimeAmount = .seconds(60)
    /// The largest number of notifications of one connection that may become followers after a crash.
    static let crashFrames = followers
    /// The number of notifications without a match that ends a row of copies after a crash. The same number of new
    /// notifications ends the start of a new connection, at which copies are expected.
    static let crashMisses = 3
    /// A row of at least this many copies ends the episode of a crash when the row reaches the last notification.
    static let crashRow = 3

    /// The number of swallowed copies for each new notification, over ``amplificationTime``. Above it, copies cost more
    /// than the error responses are worth.
    static let amplification = 3
    static let amplificationTime: TimeAmount = .seconds(10)

    // MARK: The ledger

    /// The time after which an unresolved notification is released. A notification for a slow device must not hold up
    /// the notifications behind it. Old clients take a few seconds of silence for acceptance.
    static let release: TimeAmount = .seconds(2)
    /// The first window: the number of unresolved notifications at which a new connection stops reading. The window
    /// bounds memory and latency, so the exact number matters little.
    static let window = 1024
    /// The smallest window. With a smaller window, a few slow devices would stop the reading.
    static let windowFloor = 16
    static let windowCap = 65_536
    /// A notification that is resolved within this time makes the window grow. If it takes longer than ``slow``, the
    /// window shrinks.
    static let quick: TimeAmount = .milliseconds(500)
    static let slow: TimeAmount = .seconds(1)
    /// The largest size of unresolved notifications on one connection, in bytes.
    static let windowBytes = 4 << 20
    /// The largest number of ranges in a set of identifiers. A connection has at most two sets. A client that counts
    /// upwards needs one range.
    static let identifierRanges = 64
    /// The number of repeated identifiers on one connection above which all identifiers count as repeated.
    static let repeatedIdentifiers = 1024
    /// The largest number of notifications that one connection keeps: all from the oldest unresolved notification or
    /// the waiting rejection on. The largest cache of an old client has 100,000.
    static let followers = 131_072

    // MARK: The connection

    /// The assumed round trip of a connection before the system has measured one. The rules for calm clients were
    /// tested with round trips up to this one.
    static let unknownRoundTrip: TimeAmount = .milliseconds(300)
    /// The silence, beyond two round trips, after which a client of unknown class counts as calm, because it has
    /// probably sent everything. Retransmission takes 200 ms, so a shorter pause may lie between two flights of data.
    static let unknownCalm: TimeAmount = .milliseconds(250)
    /// The same time for a client that re-sends; see ``calmFrames``. Such a client loses nothing if the error
    /// response comes in the middle of a flow.
    static let provenCalm: TimeAmount = .milliseconds(50)
    /// The silence after the only notification of a connection, if the client opens a connection for each
    /// notification. No round trips are added, because some clients wait only 200 ms for an error response.
    static let singleCalm: TimeAmount = .milliseconds(50)
    /// The time within which a client that opens a connection for each notification ends it. A connection that stays
    /// open longer waits for its next notification.
    static let single: TimeAmount = .seconds(10)
    /// A flow with at most this many notifications within ``unknownCalm`` or ``provenCalm`` and two round trips
    /// counts as calm. The smallest cache of a client that re-sends has 50. If half of the client's proven reach is
    /// more than this number, the half counts instead.
    static let calmFrames = 40
    /// The age above which the connection of a client of unknown class counts as calm in a slow flow; see
    /// ``calmFrames``.
    static let steadyAge: TimeAmount = .seconds(5)
    /// The largest age of a rejected notification that an error response names. Some clients wait only 3 s for an
    /// error response. A client that has sent a probe waits longer, so the age of a probe counts from its rejection.
    static let age: TimeAmount = .milliseconds(2500)
    /// How long an error response waits for the journal.
    static let journal: TimeAmount = .seconds(1)
    /// How long the output stays open at least after an error response, in addition to a round trip. A library in Go
    /// that reads the response together with the end takes the end for an error, and drops the response.
    static let outputDelay: TimeAmount = .milliseconds(200)
    /// The silence after which the output is closed, in addition to a round trip. A library that is writing when the
    /// end comes may fail, and lose everything that it had to write. A retransmission takes as long as this silence.
    static let outputQuiet: TimeAmount = .milliseconds(200)
    /// How long a drain may last.
    static let drain: TimeAmount = .seconds(5)
    /// How long a drain waits for the next byte, or three round trips if they are longer.
    static let drainQuiet: TimeAmount = .seconds(1)
    /// The silence after which a deaf connection is closed.
    static let deafQuiet: TimeAmount = .seconds(30)
    /// How long bytes are read and discarded in ``GatewayConnection/State/ignoring(until:)``. If the connection were
    /// closed at once, the reset would destroy bytes that the client has not read.
    static let ignore: TimeAmount = .seconds(5)
    /// The silence, beyond two round trips, after which status 10 is written.
    static let shutdownQuiet: TimeAmount = .milliseconds(200)
    /// How long clients have at the end of the process. New connections wait for the next process during this time, and
    /// some old clients give up a handshake after 10 s.
    static let ending: TimeAmount = .seconds(5)
    /// How long a listener that ends accepts the connections that the system has queued. A reset would look like a
    /// fault of the gateway. On a busy machine, a handshake takes a part of a second, and the next accept waits for
    /// it.
    static let queue: TimeAmount = .seconds(3)
    /// How late the end may be. If clients are still connected this long after ``ending`` is over, the process was
    /// suspended meanwhile. The end then begins anew.
    static let stopped: TimeAmount = .milliseconds(500)
    /// The time before the end of ``ending`` at which a client that never pauses gets status 10. The journal and the
    /// drain need this time.
    static let lastWord: TimeAmount = .seconds(2)
    /// The silence after which a client has forgotten its last notification. At a shutdown, such a client gets a plain
    /// close.
    static let forgetsLast: TimeAmount = .minutes(1)
    /// How long a full window may stop the reading before the connection ends. Old clients wait 10 s for a write, so
    /// the reading may stop for at most 8 s. This time, ``journal`` and ``drainQuiet`` add up to 8 s.
    static let stop: TimeAmount = .seconds(6)

    /// How long a reader of the feedback service waits for its rows from a ``SharedStore``. If a long list takes
    /// longer, its reader gets no rows. With a much shorter time, no reader could ever get a long list.
    static let feedback: TimeAmount = .seconds(30)

    /// The bounds of notifications without a final answer.
    enum Jobs {
        /// The largest number of notifications without a final answer, of all clients together.
        static let count = 1_000_000
        /// The largest size of the device tokens and payloads of these notifications together, in bytes.
        static let bytes = 512 << 20
        /// A batch gets no further turns when it has this number of notifications.
        static let batch = 256
        /// The largest number of rejected notifications whose tokens ``Verdicts`` keeps.
        static let rejections = 1_000_000

        /// How long a notification without an expiration is tried. A shorter outage of APNs does not lose the
        /// notification.
        static let lifetime: TimeAmount = .hours(1)
        /// The first back-off. It doubles up to ``lastRetry``.
        static let firstRetry: TimeAmount = .seconds(1)
        static let lastRetry: TimeAmount = .minutes(1)
        /// The first back-off of a notification whose device gets too many. It doubles up to ``lastBusyRetry``.
        static let firstBusyRetry: TimeAmount = .seconds(10)
        static let lastBusyRetry: TimeAmount = .minutes(5)
        /// The number of copies that the gateway sends of a notification that has perhaps arrived, if the
        /// configuration of the client asks for copies.
        static let unknownCopies = 1
        /// How long a copy waits for another connection than that of the first attempt. An outage of APNs may last as
        /// long.
        static let otherConnection = Self.lifetime
    }

    /// The journal of notifications in the store.
    enum Journal {
        /// How long a segment collects records if it does not become full earlier. While ``underWay`` commits have no
        /// answer, the segment collects longer. A segment for which an action waits is closed at once if the store
        /// has answered every commit.
        static let commitTime: TimeAmount = .milliseconds(10)
        /// The largest number of commits without an answer.
        static let underWay = 16
        /// The time without an answer after which the store counts as silent. No notification is released while the
        /// oldest record has waited for the store for this time.
        static let patience: TimeAmount = .seconds(1)
        /// How long the gateway reads while the store stores nothing. A kill then loses the notifications that were
        /// read in this time.
        static let outage: TimeAmount = .minutes(1)
        /// The time between two tries while the store refuses commits.
        static let retry: TimeAmount = .seconds(1)

        /// How long a former owner keeps its clients connected after it has handed everything over. In this time, the
        /// new owner reads the late segments. It can then recognize the copies of clients that send again after a
        /// close.
        static let handover: TimeAmount = .seconds(2)

        /// How long a segment stays at least after its opening, and after its last job was answered. After a crash,
        /// its notifications may be needed to recognize copies.
        static let lifetime = GatewayBounds.crashLifetime
        /// The unanswered jobs of the oldest segments are rewritten if less than one in this number of all jobs in
        /// the journal is unanswered.
        static let sparseness = 8
        /// The length of all segments above which segments are dropped even if an open episode needs them, in bytes.
        /// After a kill, copies of notifications in the dropped segments are delivered twice.
        static let pinnedLength = 1 << 30
        static let sweep: TimeAmount = .seconds(1)
        /// The longest time from the reading of a follower to the error response for a rejection. It is the sum of
        /// ``GatewayBounds/age`` and ``GatewayBounds/journal``, rounded up. Status 10 after a full window has older
        /// followers. Their segments stay for ``lifetime`` after the last answer.
        static let episodeAge: TimeAmount = .seconds(4)
        /// ``GatewayBounds/crashLifetime`` in seconds.
        static let crashAge = GatewayBounds.crashLifetime.nanoseconds / 1_000_000_000
    }
}
