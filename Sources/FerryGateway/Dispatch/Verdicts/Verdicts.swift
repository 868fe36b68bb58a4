internal import DequeModule
internal import FerryCore
internal import NIOCore

/// The verdicts on notifications: the events for the list of rejections, the feedback lists, the known bad tokens,
/// and the counts.
struct Verdicts: Sendable {
    /// The token of a rejected notification. It is kept until the rejection is deferred, or until
    /// ``GatewayBounds/Jobs/rejections`` newer tokens are kept.
    private struct Rejected {
        var key: KnownBad.Key
        var status: BinaryStatus
    }

    /// The counts of all clients together.
    private(set) var counts = FateCounts()
    /// The counts of each client.
    private(set) var clients: [FateCounts]
    /// APNs' answers, for each upstream.
    private(set) var answers: [AnswerFigures]
    var events: [GatewayEvent] = []
    var feedback: FeedbackRows
    /// The events since the last ``takeUnlisted()`` that have a line in the list of rejections.
    private var unlisted: [ListedEvent] = []
    private var knownBad = KnownBad()
    private var rejected: [JobID: Rejected] = [:]
    private var rejectedOrder: Deque<JobID> = []

    /// - Parameters:
    ///   - clients: the number of clients.
    ///   - upstreams: the number of upstreams.
    init(_ feedback: FeedbackRows, clients: Int, upstreams: Int) {
        self.feedback = feedback
        self.clients = Array(repeating: FateCounts(), count: clients)
        self.answers = Array(repeating: AnswerFigures(), count: upstreams)
    }

    /// Adds clients and upstreams that a reload has brought.
    mutating func grow(clients: Int, upstreams: Int) {
        while self.clients.count < clients { self.clients.append(FateCounts()) }
        while self.answers.count < upstreams { self.answers.append(AnswerFigures()) }
    }

    // MARK: Counts

    /// Changes the counts of a client, and with them those of all.
    mutating func count(_ client: Int, _ change: (inout FateCounts) -> Void) {
        change(&self.counts)
        change(&self.clients[client])
    }

    /// Counts lines of the list of rejections that were given up.
    mutating func countUnlisted(_ count: Int) { self.counts.unlisted += count }

    /// Counts an answer of APNs.
    ///
    /// - Parameter time: the time since the notification was read; nil if it counts in no histogram.
    mutating func answered(_ outcome: Outcome, by upstream: Int, after time: TimeAmount?, now: NIODeadline) {
        self.answers[upstream].add(outcome, after: time, now: now)
    }

    mutating func recentTimes(of upstream: Int, now: NIODeadline) -> TimeHistogram {
        self.answers[upstream].recent.times(now: Int64(clamping: now.uptimeNanoseconds))
    }

    /// Removes and returns the events. Also forgets the events that ``takeUnlisted()`` has not returned.
    mutating func takeEvents() -> [GatewayEvent] {
        defer {
            self.events = []
            self.unlisted = []
        }
        return self.events
    }

    /// Removes and returns the events for the list of rejections. Call this function before ``takeEvents()``, which
    /// removes these events, too.
    mutating func takeUnlisted() -> [ListedEvent] {
        defer { self.unlisted = [] }
        return self.unlisted
    }

    // MARK: The lists

    /// Notes an event that has a line in the list of rejections.
    ///
    /// - Parameters:
    ///   - segment: see ``ListedEvent/segment``.
    ///   - job: the number of the notification, if this is its last line; see ``ListedEvent/job``.
    mutating func list(_ event: GatewayEvent, in segment: UInt64?, of job: JobID?) {
        self.events.append(event)
        self.unlisted.append(ListedEvent(event: event, segment: segment, job: job))
    }

    /// Notes a device that lost the app.
    mutating func gone(_ row: FeedbackRows.Row, of identity: Int, topic: String, in segment: UInt64, of job: JobID) {
        self.feedback.add(row, of: identity)
        self.list(.gone(identity: identity, topic: topic, token: row.token, since: row.since), in: segment, of: job)
    }

    mutating func expired(_ item: GatewayEvent.Item, wasSent: Bool, in segment: UInt64, of job: JobID) {
        self.count(item.identity) {
            $0.expired += 1
            if !wasSent { $0.dropUnsent() }
        }
        self.list(.expired(item), in: segment, of: job)
    }

    mutating func buried(_ letter: GatewayEvent.Refusal, wasSent: Bool, in segment: UInt64, of job: JobID) {
        self.count(letter.identity) {
            $0.deadLetters += 1
            if !wasSent { $0.dropUnsent() }
        }
        self.list(.deadLetter(letter), in: segment, of: job)
    }

    // MARK: Rejections that are not told yet

    /// Keeps the token of a rejection, for ``deferRejection(of:client:)``.
    mutating func keep(_ id: JobID, _ key: KnownBad.Key, _ status: BinaryStatus) {
        self.rejected[id] = Rejected(key: key, status: status)
        self.rejectedOrder.append(id)
        guard self.rejectedOrder.count > GatewayBounds.Jobs.rejections, let oldest = self.rejectedOrder.popFirst()
        else {
            return
        }
        self.rejected[oldest] = nil
    }

    /// Notes that no error response will tell the client this rejection. If the rejection's token is kept, the
    /// gateway may refuse the next push to this token instead.
    mutating func deferRejection(of id: JobID?, client: Int) {
        self.count(client) { $0.deferred += 1 }
        guard let id, let rejected = self.rejected.removeValue(forKey: id) else { return }
        self.knownBad.insert(rejected.key, rejected.status)
    }

    // MARK: Known bad tokens

    /// Whether any token is known bad.
    var knowsBadTokens: Bool { !self.knownBad.isEmpty }

    /// The status of a known bad token; nil for any other token.
    func knownBad(_ token: [UInt8], route: Int) -> BinaryStatus? { self.knownBad[.init(route: route, token: token)] }

    /// Forgets a token, because the gateway now refuses a notification to it.
    mutating func forgetKnownBad(_ token: [UInt8], route: Int) {
        self.knownBad.remove(.init(route: route, token: token))
    }
}

extension FateCounts {
    /// Counts a waiting notification that ended before it went out.
    fileprivate mutating func dropUnsent() {
        self.waiting -= 1
        self.droppedUnsent += 1
    }
}
