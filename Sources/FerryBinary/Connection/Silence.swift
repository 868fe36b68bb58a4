internal import DequeModule
package import FerryMachine
package import NIOCore

/// Finds out which notifications of one connection the peer has been silent about for long enough.
///
/// Silence says something only about what the peer can have read. So the clock of a notification starts when the
/// peer's TCP acknowledged its last byte, and stands still while nothing moves: while the channel is not writable, or
/// bytes are unacknowledged and none was acknowledged since the last look. One mark stands for each flush, not for
/// each notification.
///
/// Two silences are looked for: that of the settle time, which settles notifications from the oldest on, and that about
/// everything that was written, which is how long ``quietFor`` is.
package struct Silence {
    private struct Mark {
        /// Where the flush ends in the stream below TLS.
        var offset: UInt64
        /// The sequence number after the last notification of the flush.
        var end: UInt64
        /// What `elapsed` was when the flush was found acknowledged.
        var acknowledgedAt: TimeAmount?

        func isSilent(for time: TimeAmount, at elapsed: TimeAmount) -> Bool {
            self.acknowledgedAt.map { elapsed - $0 >= time } ?? false
        }
    }

    /// More marks than this are merged into the last one, which only makes them settle later.
    package static let markLimit = 16_384
    /// A look is due this many times in a settle time, and in ``stallLimit`` if that is shorter.
    static let looksPerSettleTime: Int64 = 8
    /// How long the peer's TCP may leave bytes unacknowledged without acknowledging one. Linux ends such a connection
    /// itself (`TCP_USER_TIMEOUT`, set to the same time), where it has that option and nothing in between hides the peer.
    package static let stallLimit: TimeAmount = .seconds(30)

    private var marks: Deque<Mark> = []
    private var acknowledgedMarks = 0
    /// How long the connection has been moving, altogether.
    private var elapsed: TimeAmount = .zero
    private var lastLook: NIODeadline?
    private var lastAcknowledged: UInt64 = 0
    private var sent: UInt64 = 0
    /// How long bytes have been waiting without one being acknowledged; nil when that is not so.
    private(set) var stalledFor: TimeAmount?
    /// How long the peer has been silent about everything that was written and did not settle; nil while some of it is
    /// not acknowledged, or something is unread.
    private(set) var quietFor: TimeAmount?
    /// The sequence number before which the peer was silent for the settle time, where silence settles nothing.
    private(set) var earnedTo: UInt64?
    /// Whether the system says what is acknowledged, as far as was seen.
    private(set) var showsAcknowledgements = true

    package init() {}

    /// Whether bytes have been waiting for so long that the way to the peer is broken. A round trip is no stall: with less
    /// than that a notification that makes the peer close would pass for a broken way, and never be found.
    var isStalled: Bool { self.stalledFor.map { $0 + $0 >= Self.stallLimit } ?? false }

    package var isEmpty: Bool { self.marks.isEmpty }

    /// Notes a flush that ends at `offset` of the stream and contains everything before sequence number `end`.
    package mutating func flushed(_ end: UInt64, at offset: UInt64, now: NIODeadline) {
        if self.lastLook == nil || self.marks.isEmpty { self.lastLook = now }
        self.sent = offset
        self.quietFor = nil
        if self.marks.count >= Self.markLimit, self.acknowledgedMarks < self.marks.count {
            self.marks[self.marks.count - 1].offset = offset
            self.marks[self.marks.count - 1].end = end
        } else {
            self.marks.append(Mark(offset: offset, end: end, acknowledgedAt: nil))
        }
    }

    /// The sequence number from which on nothing can have left when `handed` bytes of the stream were with the kernel;
    /// nil when all may have.
    ///
    /// A flush that the kernel had only in part counts as handed over, and so does one that is being made.
    func keptBack(handed: UInt64) -> UInt64? {
        self.marks.first { $0.offset > handed }?.end
    }

    /// When to look next; nil when there is nothing to wait for.
    ///
    /// - Parameter time: the shortest silence that is waited for.
    func nextLook(for time: TimeAmount) -> NIODeadline? {
        guard let lastLook, !self.marks.isEmpty else { return nil }
        return lastLook + Self.interval(time)
    }

    /// Takes a sample, and returns the sequence number up to which `settleTime` has passed in silence, if any.
    ///
    /// - Parameters:
    ///   - quietTime: the shortest silence that is waited for; nil: the settle time.
    ///   - settles: whether silence settles anything. If not, ``earnedTo`` notes how far it would.
    package mutating func look(
        _ sample: TransportSample,
        settleTime: TimeAmount,
        quietTime: TimeAmount? = nil,
        settles: Bool,
        now: NIODeadline
    ) -> UInt64? {
        let interval = Self.interval(min(quietTime ?? settleTime, settleTime))
        // A process that was stopped has not listened meanwhile: its absence is not the peer's silence.
        let passed = min(now - (self.lastLook ?? now), interval + interval)
        let acknowledged = sample.acknowledged ?? 0
        let isMoving = acknowledged >= self.sent || acknowledged > self.lastAcknowledged
        self.stalledFor = isMoving ? nil : self.stalledFor.map { $0 + passed } ?? .zero
        if isMoving, sample.isWritable { self.elapsed = self.elapsed + passed }
        self.lastLook = now
        self.lastAcknowledged = acknowledged
        self.showsAcknowledgements = sample.acknowledged != nil
        while self.acknowledgedMarks < self.marks.count,
            self.marks[self.acknowledgedMarks].offset <= acknowledged
        {
            self.marks[self.acknowledgedMarks].acknowledgedAt = self.elapsed
            self.acknowledgedMarks += 1
        }
        guard isMoving, sample.isWritable, !sample.hasUnread else {
            self.quietFor = nil
            return nil
        }
        self.quietFor = self.marks.last?.acknowledgedAt.map { self.elapsed - $0 }
        guard settles else {
            self.earnedTo = self.marks.last { $0.isSilent(for: settleTime, at: self.elapsed) }?.end ?? self.earnedTo
            return nil
        }
        var end: UInt64?
        while let first = self.marks.first, first.isSilent(for: settleTime, at: self.elapsed) {
            end = self.marks.removeFirst().end
            self.acknowledgedMarks -= 1
        }
        return end
    }

    /// Drops the marks of what was settled otherwise.
    mutating func settled(before end: UInt64) {
        while let first = self.marks.first, first.end <= end {
            self.marks.removeFirst()
            if self.acknowledgedMarks > 0 { self.acknowledgedMarks -= 1 }
        }
    }

    private static func interval(_ settleTime: TimeAmount) -> TimeAmount {
        .nanoseconds(max(min(settleTime, self.stallLimit).nanoseconds / self.looksPerSettleTime, 100_000))
    }
}
