internal import DequeModule
package import NIOCore

/// What the operating system says about a connection at one time.
package struct TransportSample: Sendable {
    /// Bytes of the stream below TLS that the peer has acknowledged.
    package var acknowledged: UInt64
    /// Whether the system holds bytes that were not read yet, or the end of the stream. They speak first.
    package var hasUnread: Bool
    package var isWritable: Bool

    package init(acknowledged: UInt64, hasUnread: Bool, isWritable: Bool) {
        self.acknowledged = acknowledged
        self.hasUnread = hasUnread
        self.isWritable = isWritable
    }
}

/// Finds out which notifications of one connection the peer has been silent about for long enough.
///
/// Silence says something only about what the peer can have read. So the clock of a notification starts when the
/// peer's TCP acknowledged its last byte, and stands still while nothing moves: while the channel is not writable, or
/// bytes are unacknowledged and none was acknowledged since the last look. One mark stands for each flush, not for
/// each notification.
package struct Silence {
    private struct Mark {
        /// Where the flush ends in the stream below TLS.
        var offset: UInt64
        /// The sequence number after the last notification of the flush.
        var end: UInt64
        /// What `elapsed` was when the flush was found acknowledged.
        var acknowledgedAt: TimeAmount?
    }

    /// More marks than this are merged into the last one, which only makes them settle later.
    package static let markLimit = 16_384
    /// A look is due this many times in a settle time.
    static let looksPerSettleTime: Int64 = 8

    private var marks: Deque<Mark> = []
    private var acknowledgedMarks = 0
    /// How long the connection has been moving, altogether.
    private var elapsed: TimeAmount = .zero
    private var lastLook: NIODeadline?
    private var lastAcknowledged: UInt64 = 0
    private var sent: UInt64 = 0
    /// Since when bytes have been waiting without one being acknowledged.
    private(set) var stalledSince: NIODeadline?

    package init() {}

    package var isEmpty: Bool { self.marks.isEmpty }

    /// Notes a flush that ends at `offset` of the stream and contains everything before sequence number `end`.
    package mutating func flushed(_ end: UInt64, at offset: UInt64, now: NIODeadline) {
        if self.lastLook == nil || self.marks.isEmpty { self.lastLook = now }
        self.sent = offset
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
    func nextLook(settleTime: TimeAmount) -> NIODeadline? {
        guard let lastLook, !self.marks.isEmpty else { return nil }
        return lastLook + Self.interval(settleTime)
    }

    /// Takes a sample, and returns the sequence number up to which `settleTime` has passed in silence, if any.
    package mutating func look(_ sample: TransportSample, settleTime: TimeAmount, now: NIODeadline) -> UInt64? {
        let interval = Self.interval(settleTime)
        let passed = now - (self.lastLook ?? now)
        let isWaiting = sample.acknowledged < self.sent
        let isMoving = !isWaiting || sample.acknowledged > self.lastAcknowledged
        if isMoving {
            self.stalledSince = nil
        } else if self.stalledSince == nil {
            self.stalledSince = now
        }
        if isMoving, sample.isWritable {
            // A process that was stopped has not listened meanwhile: its absence is not the peer's silence.
            self.elapsed = self.elapsed + min(passed, interval + interval)
        }
        self.lastLook = now
        self.lastAcknowledged = sample.acknowledged
        while self.acknowledgedMarks < self.marks.count,
            self.marks[self.acknowledgedMarks].offset <= sample.acknowledged
        {
            self.marks[self.acknowledgedMarks].acknowledgedAt = self.elapsed
            self.acknowledgedMarks += 1
        }
        guard isMoving, sample.isWritable, !sample.hasUnread else { return nil }
        var end: UInt64?
        while let acknowledgedAt = self.marks.first?.acknowledgedAt, self.elapsed - acknowledgedAt >= settleTime {
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
        .nanoseconds(max(settleTime.nanoseconds / self.looksPerSettleTime, 100_000))
    }
}
