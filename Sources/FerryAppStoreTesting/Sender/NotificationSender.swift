internal import DequeModule
internal import FerryAppStore
internal import FerryMachine
public import FerryOpenSSL
public import FerryPlatform

/// The part of the App Store that sends notifications and sends them again, without I/O: notifications, times and answers
/// go in, posts come out.
///
/// ```
///            add               due              answered: 200–206
///    made ─────────▶ waiting ─────────▶ posted ───────────────────▶ delivered ──▶ posted (a duplicate)
///                       ▲                  │                            ▲             │
///                       └──────────────────┤ answered: 40x, 50x,        └─────────────┘
///                        an hour or more   │ no answer
///                                          ▼ no attempt is left, or no retry for this answer
///                                       abandoned
/// ```
///
/// Time is that of the caller: 160 hours may pass between two calls.
public struct NotificationSender: Sendable {
    /// A post to make now.
    public struct Post: Sendable {
        /// The number of the post, which its answer has, too.
        public let id: Int
        /// The notification that is sent.
        public let notification: SimulatedNotification
        /// 1 for the first attempt.
        public let number: Int
        /// Whether the notification was answered with success before.
        public let isDuplicate: Bool
        /// How the bytes of the post are sent.
        public let delivery: Delivery
    }

    /// How the bytes of a post are sent.
    public enum Delivery: String, Hashable, Sendable, CaseIterable {
        case whole
        /// The body comes in pieces with pauses between them.
        case slowBody
        /// The connection is reset in the middle of the body: `PREMATURE_CLOSE`.
        case cut
        /// The whole post is sent, and the connection closed before the answer: `TIMED_OUT`.
        case impatient
    }

    /// One attempt that has ended.
    public struct Attempt: Hashable, Sendable {
        /// `attemptDate`
        public let date: Date
        /// The answer of the receiver.
        public let answer: NotificationAnswer
        /// 1 for the first attempt.
        public let number: Int
        /// Whether the notification was answered with success before.
        public let isDuplicate: Bool
        /// How the bytes of the post were sent.
        public let delivery: Delivery
    }

    /// A notification, and what became of it.
    public struct Record: Sendable {
        /// The notification as it was sent last: some attempts sign it anew.
        public internal(set) var notification: SimulatedNotification
        /// The attempts that have ended, in the order of their answers.
        public internal(set) var attempts: [Attempt] = []
        /// Where the notification stands between its attempts.
        public internal(set) var state = State.waiting

        /// Whether some attempt was successful.
        public var isDelivered: Bool { self.attempts.contains { $0.answer.meaning == .success } }
    }

    /// Where a notification stands between its attempts.
    public enum State: Hashable, Sendable {
        /// An attempt is due at some time.
        case waiting
        /// An attempt was made, and its answer has not come.
        case posted
        /// The answer was a success.
        case delivered
        /// The App Store will not send the notification again. A CONSUMPTION_REQUEST that comes again has another record.
        case abandoned
    }

    private struct Entry: Sendable {
        var due: Date
        var record: Int
        var number: Int
        var isDuplicate = false
    }

    /// How notifications are sent, and what goes wrong.
    public let options: Options
    private let signer: AppStoreSigner
    private var values: NotificationValues
    /// What is due, by time.
    private var waiting: Deque<Entry> = []
    private var posted: [Int: (entry: Entry, date: Date, delivery: Delivery)] = [:]
    private var lastPost = 0
    /// All notifications, in the order in which they were added or made.
    public private(set) var records: [Record] = []
    private var places: [String: Int] = [:]

    /// - Parameters:
    ///   - options: how notifications are sent, and what goes wrong.
    ///   - signer: signs what must be signed anew.
    public init(_ options: Options = Options(), signer: AppStoreSigner) {
        self.options = options
        self.signer = signer
        self.values = NotificationValues(seed: options.seed)
    }

    /// When the next post is due; nil: nothing waits.
    public var nextDue: Date? { self.waiting.first?.due }

    /// The number of posts that were not answered yet.
    public var postedCount: Int { self.posted.count }

    /// The record of a notification. Two notifications of one UUID have the record of the later one.
    public func record(uuid: String) -> Record? { self.places[uuid].map { self.records[$0] } }

    /// Adds a notification. Its first attempt is due now; if it is to arrive out of order, up to a minute later.
    public mutating func add(_ notification: SimulatedNotification, at now: Date) {
        var due = now
        if self.isChosen(self.options.reordered) {
            // Whole steps, so that what is late still comes many at a time.
            let steps = 1 + Int(self.values.fraction() * Double(Options.reorderingSteps))
            due = now.addingTimeInterval(Double(steps) * Options.reorderingStep)
        }
        self.schedule(Entry(due: due, record: self.append(notification), number: 1))
    }

    /// Returns a post whose time has come; nil: there is none.
    ///
    /// - Throws: `TLSError` with `internalFailure` when a copy cannot be signed.
    public mutating func next(at now: Date) throws(TLSError) -> Post? {
        guard var entry = self.waiting.first, entry.due <= now else { return nil }
        self.waiting.removeFirst()
        if entry.number > 1 || entry.isDuplicate { try self.renew(&entry, at: now) }
        if !entry.isDuplicate { self.records[entry.record].state = .posted }
        self.lastPost += 1
        let delivery = self.delivery(entry)
        self.posted[self.lastPost] = (entry, now, delivery)
        return Post(
            id: self.lastPost,
            notification: self.records[entry.record].notification,
            number: entry.number,
            isDuplicate: entry.isDuplicate,
            delivery: delivery
        )
    }

    /// Takes the answer to a post.
    ///
    /// - Returns: the attempt that has ended; nil for another answer to the same post, which is ignored.
    @discardableResult
    public mutating func answered(_ post: Int, _ answer: NotificationAnswer, at now: Date) -> Attempt? {
        guard let (entry, date, delivery) = self.posted.removeValue(forKey: post) else { return nil }
        let attempt = Attempt(
            date: date,
            answer: answer,
            number: entry.number,
            isDuplicate: entry.isDuplicate,
            delivery: delivery
        )
        self.records[entry.record].attempts.append(attempt)
        // A duplicate changes nothing: its first copy was delivered.
        if !entry.isDuplicate { self.settle(entry, answer, attemptedAt: date, now: now) }
        return attempt
    }

    private mutating func settle(_ entry: Entry, _ answer: NotificationAnswer, attemptedAt date: Date, now: Date) {
        let notification = self.records[entry.record].notification
        guard answer.meaning != .success else {
            self.records[entry.record].state = .delivered
            if self.isChosen(self.options.duplicates) {
                let due = now.addingTimeInterval(Options.reorderingStep)
                self.schedule(Entry(due: due, record: entry.record, number: entry.number, isDuplicate: true))
            }
            return
        }
        let delays = self.options.schedule(of: notification).delays
        guard self.options.isRetried(answer), entry.number - 1 < delays.count else {
            self.records[entry.record].state = .abandoned
            return
        }
        self.records[entry.record].state = .waiting
        // "at 1, 12, 24, 48, and 72 hours after the previous attempt" (Apple)
        let due = date.addingTimeInterval(Double(delays[entry.number - 1].components.seconds))
        self.schedule(Entry(due: due, record: entry.record, number: entry.number + 1))
    }

    // MARK: Parts

    private mutating func append(_ notification: SimulatedNotification) -> Int {
        self.places[notification.uuid] = self.records.count
        self.records.append(Record(notification: notification))
        return self.records.count - 1
    }

    private mutating func schedule(_ entry: Entry) {
        var index = self.waiting.count
        // A new entry is nearly always the last, so search from the end.
        while index > 0, self.waiting[index - 1].due > entry.due { index -= 1 }
        self.waiting.insert(entry, at: index)
    }

    /// Makes the copy of a notification that another attempt sends.
    private mutating func renew(_ entry: inout Entry, at now: Date) throws(TLSError) {
        let old = self.records[entry.record].notification
        // A CONSUMPTION_REQUEST is repeated with new UUIDs, so each copy is a notification of its own in the history
        // (Apple's developer forum, thread 756151).
        let isNew = old.kind.type == .consumptionRequest && old.version == .two && !entry.isDuplicate
        let isSignedAnew = isNew || (self.options.signsRetriesAnew && !entry.isDuplicate)
        let copy = try self.signer.copy(
            of: old,
            uuid: isNew ? self.values.uuid() : nil,
            signedDate: isSignedAnew ? now : nil,
            receiptSeed: self.values.number()
        )
        if isNew {
            self.records[entry.record].state = .abandoned
            entry.record = self.append(copy)
        } else {
            self.records[entry.record].notification = copy
        }
    }

    private mutating func isChosen(_ fraction: Double) -> Bool { fraction > 0 && self.values.fraction() < fraction }

    /// The fault of a post. The last attempt has none, so that a fault alone never loses a notification.
    private mutating func delivery(_ entry: Entry) -> Delivery {
        let schedule = self.options.schedule(of: self.records[entry.record].notification)
        guard entry.number <= schedule.delays.count, !entry.isDuplicate else { return .whole }
        if self.isChosen(self.options.slowBodies) { return .slowBody }
        if self.isChosen(self.options.cuts) { return .cut }
        if self.isChosen(self.options.impatience) { return .impatient }
        return .whole
    }
}
