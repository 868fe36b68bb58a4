internal import DequeModule
internal import FerryCore
internal import NIOCore

/// The notifications of one client connection, in the order in which they were read, with their results.
///
/// An error response names one notification, and means that all earlier notifications were accepted. So an error
/// response can tell only the oldest rejection, and only after all notifications before that rejection are resolved.
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
/// Without a rejection, all notifications before the head are forgotten. Only the followers of ``keepFollowers(of:)``
/// stay.
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
        /// Whether the notification was released: the client counts the notification as accepted, and the ledger
        /// ignores a later result.
        var isReleased = false

        var isResolved: Bool { self.isReleased || self.frame.fate != .running }
    }

    /// A rejected notification. All notifications before ``Ledger/rejection`` are resolved. The rejections that
    /// ``Ledger/removeAll()`` returns may have unresolved notifications before them.
    struct Rejection: Hashable, Sendable {
        var sequence: UInt64
        var identifier: UInt32?
        var job: JobID?
        var status: BinaryStatus
        var readAt: NIODeadline
        var isProbe: Bool
    }

    /// A notification that counts as accepted. All notifications before this one are resolved.
    struct Accepted: Hashable, Sendable {
        var sequence: UInt64
        var identifier: UInt32?
        var readAt: NIODeadline
    }

    private var entries: Deque<Entry> = []
    /// The sequence number of the first kept entry.
    private var start: UInt64 = 0
    /// The sequence number of the oldest unresolved notification; ``next`` if all are resolved.
    private var head: UInt64 = 0
    /// The oldest rejection before the head that was not given up.
    private(set) var rejection: Rejection?
    private(set) var lastAccepted: Accepted?
    /// The sequence number after the notification that status 10 will name; nil if no status 10 waits.
    private var firstKept: UInt64?
    private var identifiers = IdentifierSet()
    private var window = ReadingWindow()
    /// The number of unresolved notifications. Resolved notifications after the head do not count.
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

    /// Whether all notifications that were read are resolved.
    var isResolved: Bool { self.head == self.next }

    /// Whether the notification that was read last is kept and rejected, and was not released before.
    var endsWithRejection: Bool {
        guard let last = self.entries.last, !last.isReleased, case .rejected = last.frame.fate else { return false }
        return true
    }

    /// Whether the gateway may read more.
    var hasRoom: Bool { self.unresolvedCount < self.window.size && self.hasMemory }

    /// Whether the bounds of memory let the gateway read more. The window does not count.
    var hasMemory: Bool {
        self.unresolvedBytes < GatewayBounds.windowBytes && self.entries.count < GatewayBounds.followers
    }

    /// Returns whether this identifier names only one notification of the connection; see
    /// ``IdentifierSet/isUnique(_:)``.
    func isUnique(_ identifier: UInt32) -> Bool { self.identifiers.isUnique(identifier) }

    /// Returns the number of notifications that were read after this one.
    func followerCount(of sequence: UInt64) -> Int { Int(self.next - min(sequence + 1, self.next)) }

    /// The job of a notification; nil if the notification has no job, or is not kept.
    func job(of sequence: UInt64) -> JobID? {
        self.index(of: sequence).flatMap { self.entries[$0].frame.follower?.job }
    }

    /// The key of a notification; nil if the notification has no job, or is not kept.
    func key(of sequence: UInt64) -> ReplayKey? {
        self.index(of: sequence).flatMap { self.entries[$0].frame.follower?.key }
    }

    // MARK: Changes

    /// Adds a notification, and returns its sequence number.
    ///
    /// - Parameter isCopy: whether the client sends the notification again, under the same identifier on this
    ///   connection.
    @discardableResult
    mutating func append(_ frame: Frame, isCopy: Bool = false, now: NIODeadline) -> UInt64 {
        let sequence = self.next
        if let identifier = frame.identifier { self.identifiers.insert(identifier, isCopy: isCopy) }
        self.entries.append(Entry(frame: frame, readAt: now))
        if frame.fate == .running { self.count(frame, 1) }
        self.advance()
        return sequence
    }

    /// Notes a result. Returns false if the notification already has a result, or was released, or is not kept, or if
    /// the fate is `running`. No error response can then tell this result, even if the result is a rejection.
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

    /// Counts a notification as accepted while its job is running, because the spool has the job. Returns false if
    /// the notification is resolved or is not kept.
    mutating func release(_ sequence: UInt64, now: NIODeadline) -> Bool {
        guard let index = self.index(of: sequence), !self.entries[index].isResolved else { return false }
        self.entries[index].isReleased = true
        self.resolved(self.entries[index], now: now)
        self.advance()
        return true
    }

    /// Releases the notifications that were read ``GatewayBounds/release`` ago and are unresolved. Returns their
    /// jobs.
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

    /// Gives up the present ``rejection``, because this connection has told this rejection or will never tell it.
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

    /// Keeps all notifications after this one, because a status 10 that names this one waits to be written. The
    /// client will repeat the kept notifications, whatever their results are.
    mutating func keepFollowers(of sequence: UInt64) { self.firstKept = sequence + 1 }

    /// Notes that this connection tells its error response. The episode of the response has a copy of the followers,
    /// so the ledger need not keep them.
    mutating func forgetFollowers() {
        self.firstKept = nil
        self.forget()
    }

    /// The notifications after this one that have a job, in order. A released notification has the fate `running`.
    func followers(of sequence: UInt64) -> [Follower] {
        let first = Int(min(max(sequence + 1, self.start), self.next) - self.start)
        return self.entries.dropFirst(first).compactMap { entry in
            guard var follower = entry.frame.follower else { return nil }
            follower.fate = entry.isReleased ? .running : entry.frame.fate
            return follower
        }
    }

    /// Removes all notifications. Returns the rejections that were not given up.
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
