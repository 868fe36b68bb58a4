internal import DequeModule
internal import FerryCore

/// The verdicts on notifications: the events for the list of rejections, the feedback lists, the tokens that are known to
/// be bad, and the counts.
struct Verdicts: Sendable {
    /// The token of a rejected notification, until its rejection was told or is too old.
    private struct Rejected {
        var key: KnownBad.Key
        var status: BinaryStatus
    }

    var counts = FateCounts()
    var events: [GatewayEvent] = []
    var feedback: FeedbackRows
    /// The number of events that ``takeUnlisted()`` has returned.
    private var listedEvents = 0
    private var knownBad = KnownBad()
    private var rejected: [JobID: Rejected] = [:]
    private var rejectedOrder: Deque<JobID> = []

    init(_ feedback: FeedbackRows) { self.feedback = feedback }

    /// Removes and returns the events that must be written down.
    mutating func takeEvents() -> [GatewayEvent] {
        defer {
            self.events = []
            self.listedEvents = 0
        }
        return self.events
    }

    /// Returns the events since the last call, without removing them. Call it before ``takeEvents()``.
    mutating func takeUnlisted() -> ArraySlice<GatewayEvent> {
        defer { self.listedEvents = self.events.count }
        return self.events[self.listedEvents...]
    }

    // MARK: The lists

    /// Notes a device that lost the app.
    mutating func gone(_ row: FeedbackRows.Row, of identity: Int, topic: String) {
        self.feedback.add(row, of: identity)
        self.events.append(.gone(identity: identity, topic: topic, token: row.token, since: row.since))
    }

    mutating func expired(_ item: GatewayEvent.Item, wasSent: Bool) {
        self.counts.expired += 1
        if !wasSent { self.dropUnsent() }
        self.events.append(.expired(item))
    }

    mutating func buried(_ letter: GatewayEvent.Refusal, wasSent: Bool) {
        self.counts.deadLetters += 1
        if !wasSent { self.dropUnsent() }
        self.events.append(.deadLetter(letter))
    }

    private mutating func dropUnsent() {
        self.counts.waiting -= 1
        self.counts.droppedUnsent += 1
    }

    // MARK: Rejections that are not told yet

    /// Keeps the token of a rejection until the rejection is told.
    mutating func keep(_ id: JobID, _ key: KnownBad.Key, _ status: BinaryStatus) {
        self.rejected[id] = Rejected(key: key, status: status)
        self.rejectedOrder.append(id)
        guard self.rejectedOrder.count > GatewayBounds.Jobs.rejections, let oldest = self.rejectedOrder.popFirst()
        else {
            return
        }
        self.rejected[oldest] = nil
    }

    /// Notes that no error response will tell this rejection. The next push to the token may be refused instead.
    mutating func deferRejection(of id: JobID?) {
        self.counts.deferred += 1
        guard let id, let rejected = self.rejected.removeValue(forKey: id) else { return }
        self.knownBad.insert(rejected.key, rejected.status)
    }

    // MARK: Known bad tokens

    /// Whether there is a token whose refusal was not told.
    var knowsBadTokens: Bool { !self.knownBad.isEmpty }

    /// The status of a token whose refusal was not told.
    func knownBad(_ token: [UInt8], route: Int) -> BinaryStatus? { self.knownBad[.init(route: route, token: token)] }

    /// Forgets a token whose refusal is told now.
    mutating func forgetKnownBad(_ token: [UInt8], route: Int) {
        self.knownBad.remove(.init(route: route, token: token))
    }
}
