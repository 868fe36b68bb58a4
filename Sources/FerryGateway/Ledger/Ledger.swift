internal import DequeModule
internal import FerryCore
internal import NIOCore

/// The notifications of one client connection, in the order in which they were read, with their results.
///
/// An error response names one notification, and means that all before it were accepted. So only the oldest rejection
/// can be told, and only after everything before it is resolved.
///
/// ```
///                   kept        kept
///   ┌─────────────┬───────────┬────────────────────────┐
///   │ forgotten   │ resolved  │ unresolved or resolved │
///   └─────────────┴───────────┴────────────────────────┘
///                 ▲           ▲
///             rejection      head: the oldest unresolved
/// ```
///
/// Without a rejection, all notifications before the head are forgotten, except those that ``keepFollowers(of:)`` keeps.
struct Ledger: Sendable {
    /// A notification as it was read.
    struct Frame: Sendable {
        /// The identifier as the client sent it; nil for a notification without one.
        var identifier: UInt32?
        /// The key, job and fate; nil for a notification that was refused before it had a job.
        var follower: Follower?
        /// The result so far.
        var fate: JobFate
        /// Whether the token is empty. Clients send such a notification on purpose, to get an error response.
        var isProbe: Bool
        /// The number of bytes on the wire.
        var length: Int

        init(identifier: UInt32?, follower: Follower, length: Int) {
            self.identifier = identifier
            self.follower = follower
            self.fate = follower.fate
            self.isProbe = false
            self.length = length
        }

        /// A faulty notification, which has no job.
        init(identifier: UInt32?, refusedWith status: BinaryStatus, isProbe: Bool, length: Int) {
            self.identifier = identifier
            self.fate = .rejected(status)
            self.isProbe = isProbe
            self.length = length
        }
    }

    private struct Entry: Sendable {
        var frame: Frame
        var readAt: NIODeadline
        /// Whether the notification was released: the client counts it as accepted, and its result no longer matters
        /// here.
        var isReleased = false

        var isResolved: Bool { self.isReleased || self.frame.fate != .running }
    }

    /// A rejected notification. Everything before it is resolved.
    struct Rejection: Hashable, Sendable {
        var sequence: UInt64
        var identifier: UInt32?
        var job: JobID?
        var status: BinaryStatus
        var readAt: NIODeadline
        var isProbe: Bool
    }

    /// A notification that counts as accepted. Everything before it is resolved.
    struct Accepted: Hashable, Sendable {
        var sequence: UInt64
        var identifier: UInt32?
        var readAt: NIODeadline
    }

    private var entries: Deque<Entry> = []
    /// The sequence number of the first kept entry.
    private var start: UInt64 = 0
    /// The sequence number of the oldest unresolved notification.
    private var head: UInt64 = 0
    /// The oldest rejection before the head that was not given up.
    private(set) var rejection: Rejection?
    private(set) var lastAccepted: Accepted?
    /// The first follower of the notification that status 10 will name; nil if no status 10 waits.
    private var firstKept: UInt64?
    private var identifiers = IdentifierSet()
    private var window = ReadingWindow()
    /// The number of unresolved notifications. A notification after the head that has its result does not count.
    private var unresolvedCount = 0
    /// The bytes of all unresolved notifications together.
    private var unresolvedBytes = 0

    init() {}

    /// The sequence number of the next notification.
    var next: UInt64 { self.start + UInt64(self.entries.count) }

    /// Whether the client gave two of its notifications different identifiers.
    var hasSeveralIdentifiers: Bool { self.identifiers.hasSeveral }

    /// Whether the client certainly gave two of its notifications the same identifier. Copies do not count.
    var repeatsIdentifiers: Bool { self.identifiers.hasRepeated }

    var windowSize: Int { self.window.size }

    /// Whether everything that was read is resolved.
    var isResolved: Bool { self.head == self.next }

    /// Whether the notification that was read last is rejected, and was not released before.
    var endsWithRejection: Bool {
        guard let last = self.entries.last, !last.isReleased, case .rejected = last.frame.fate else { return false }
        return true
    }

    /// Whether the gateway may read more.
    var hasRoom: Bool { self.unresolvedCount < self.window.size && self.hasMemory }

    /// Whether the gateway may read more, as far as the memory allows.
    var hasMemory: Bool {
        self.unresolvedBytes < GatewayBounds.windowBytes && self.entries.count < GatewayBounds.followers
    }

    /// Returns whether this identifier names only one notification of the connection.
    func isUnique(_ identifier: UInt32) -> Bool { self.identifiers.isUnique(identifier) }

    /// Returns the number of notifications that were read after this one.
    func followerCount(of sequence: UInt64) -> Int { Int(self.next - min(sequence + 1, self.next)) }

    /// The job of a notification; nil if it has no job, or is not kept.
    func job(of sequence: UInt64) -> JobID? {
        self.index(of: sequence).flatMap { self.entries[$0].frame.follower?.job }
    }

    /// The key of a notification; nil if it has no job, or is not kept.
    func key(of sequence: UInt64) -> ReplayKey? {
        self.index(of: sequence).flatMap { self.entries[$0].frame.follower?.key }
    }

    // MARK: Changes

    /// Adds a notification, and returns its sequence number.
    ///
    /// - Parameter isCopy: whether the client sends it again under the identifier that it had on this connection.
    @discardableResult
    mutating func append(_ frame: Frame, isCopy: Bool = false, now: NIODeadline) -> UInt64 {
        let sequence = self.next
        if let identifier = frame.identifier { self.identifiers.insert(identifier, isCopy: isCopy) }
        self.entries.append(Entry(frame: frame, readAt: now))
        if frame.fate == .running { self.count(frame, 1) }
        self.advance()
        return sequence
    }

    /// Notes a result. Returns false if the client already counts the notification as accepted, or if the notification
    /// is not kept. An error response can then no longer tell its rejection.
    mutating func settle(_ sequence: UInt64, _ fate: JobFate, now: NIODeadline) -> Bool {
        assert(sequence < self.next, "a result belongs to a notification that was read")
        guard fate != .running, let index = self.index(of: sequence), !self.entries[index].isResolved else {
            return false
        }
        self.entries[index].frame.fate = fate
        self.resolved(self.entries[index], now: now)
        self.advance()
        return true
    }

    /// Counts a notification as accepted while its job is running, because the spool has it. Returns false if the
    /// notification is resolved.
    mutating func release(_ sequence: UInt64, now: NIODeadline) -> Bool {
        guard let index = self.index(of: sequence), !self.entries[index].isResolved else { return false }
        self.entries[index].isReleased = true
        self.resolved(self.entries[index], now: now)
        self.advance()
        return true
    }

    /// Releases the notifications whose time has come, and returns their jobs.
    mutating func releaseDue(now: NIODeadline) -> [JobID] {
        guard let due = self.nextRelease, due <= now else { return [] }
        var jobs: [JobID] = []
        let first = Int(self.head - self.start)
        for index in first..<self.entries.count {
            guard self.entries[index].readAt + GatewayBounds.release <= now else { break }
            guard !self.entries[index].isResolved else { continue }
            self.entries[index].isReleased = true
            self.resolved(self.entries[index], now: now)
            if let job = self.entries[index].frame.follower?.job { jobs.append(job) }
        }
        self.advance()
        return jobs
    }

    /// When the oldest unresolved notification must be released; nil if all are resolved.
    var nextRelease: NIODeadline? {
        self.index(of: self.head).map { self.entries[$0].readAt + GatewayBounds.release }
    }

    /// Gives up the present rejection, because this connection has told it or will not tell it.
    mutating func pass() {
        guard let passed = self.rejection else { return }
        self.rejection = nil
        var sequence = passed.sequence + 1
        while self.rejection == nil, sequence < self.head {
            self.rejection = self.index(of: sequence).flatMap { self.rejection(at: $0, sequence) }
            sequence += 1
        }
        self.forget()
    }

    /// Keeps everything after this notification, because a last word that names it waits for the journal. The client
    /// will repeat the kept notifications, whatever their results are.
    mutating func keepFollowers(of sequence: UInt64) { self.firstKept = sequence + 1 }

    /// Notes that the last word has been written. Its episode has the followers now.
    mutating func forgetFollowers() {
        self.firstKept = nil
        self.forget()
    }

    /// The notifications after this one that have a job, in order. The fate of a released one is `running`.
    func followers(of sequence: UInt64) -> [Follower] {
        let first = Int(min(max(sequence + 1, self.start), self.next) - self.start)
        return self.entries.dropFirst(first).compactMap { entry in
            guard var follower = entry.frame.follower else { return nil }
            follower.fate = entry.isReleased ? .running : entry.frame.fate
            return follower
        }
    }

    /// Removes everything. Returns the rejections that were not given up.
    mutating func removeAll() -> [Rejection] {
        let first = self.rejection?.sequence ?? self.head
        let rejections = (first..<self.next).compactMap { sequence in
            self.index(of: sequence).flatMap { self.rejection(at: $0, sequence) }
        }
        self.start = self.next
        self.entries = []
        self.head = self.start
        self.rejection = nil
        self.firstKept = nil
        self.unresolvedCount = 0
        self.unresolvedBytes = 0
        return rejections
    }

    // MARK: The head

    /// Moves the head past all resolved notifications.
    private mutating func advance() {
        while let index = self.index(of: self.head), self.entries[index].isResolved {
            let entry = self.entries[index]
            let rejection = self.rejection(at: index, self.head)
            self.rejection = self.rejection ?? rejection
            if rejection == nil {
                self.lastAccepted = Accepted(
                    sequence: self.head,
                    identifier: entry.frame.identifier,
                    readAt: entry.readAt
                )
            }
            self.head += 1
        }
        self.forget()
    }

    private func rejection(at index: Int, _ sequence: UInt64) -> Rejection? {
        let entry = self.entries[index]
        guard !entry.isReleased, case .rejected(let status) = entry.frame.fate else { return nil }
        return Rejection(
            sequence: sequence,
            identifier: entry.frame.identifier,
            job: entry.frame.follower?.job,
            status: status,
            readAt: entry.readAt,
            isProbe: entry.frame.isProbe
        )
    }

    private mutating func forget() {
        let keep = min(self.rejection?.sequence ?? self.head, self.firstKept ?? .max)
        guard keep > self.start else { return }
        self.entries.removeFirst(Int(keep - self.start))
        self.start = keep
    }

    private mutating func resolved(_ entry: Entry, now: NIODeadline) {
        self.count(entry.frame, -1)
        // Each notification counts with its own time. If the head's time counted, one slow device would make the path
        // to APNs look slow.
        self.window.resolved(after: now - entry.readAt, now: now)
    }

    private mutating func count(_ frame: Frame, _ sign: Int) {
        self.unresolvedBytes += sign * frame.length
        self.unresolvedCount += sign
    }

    private func index(of sequence: UInt64) -> Int? {
        guard sequence >= self.start, sequence < self.next else { return nil }
        return Int(sequence - self.start)
    }
}
