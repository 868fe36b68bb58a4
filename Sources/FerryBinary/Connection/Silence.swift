internal import DequeModule
package import FerryMachine
package import NIOCore

/// The measurement of the peer's silence. It finds the notifications of one connection that got no error response for
/// long enough.
///
/// Silence means something only after the peer can have read the notification. So the clock of a notification starts
/// when the peer's TCP acknowledged its last byte. The clock stops while the channel is not writable, and while bytes
/// are unacknowledged and none was acknowledged since the last look. There is one mark for each flush, not for each
/// notification.
///
/// Two silences are measured. Silence for the settle time settles notifications, the oldest first. Silence about
/// everything that was written is ``quietFor``.
package struct Silence {
    private struct Mark {
        /// The end of the flush in the stream below TLS.
        var offset: UInt64
        /// The sequence number after the last notification of the flush.
        var end: UInt64
        /// The value of `elapsed` when the flush was found acknowledged.
        var acknowledgedAt: TimeAmount?

        func isSilent(for time: TimeAmount, at elapsed: TimeAmount) -> Bool {
            self.acknowledgedAt.map { elapsed - $0 >= time } ?? false
        }
    }

    /// The largest number of marks. Further ones are merged into the last one, so their notifications settle later.
    package static let markLimit = 16_384
    /// The number of looks in a settle time, or in ``stallLimit`` if that is shorter.
    static let looksPerSettleTime: Int64 = 8
    /// How long the peer's TCP may acknowledge nothing while bytes wait. Linux ends such a connection itself
    /// (`TCP_USER_TIMEOUT`, set to the same time), if it has that option and no middlebox acknowledges for the peer.
    package static let stallLimit: TimeAmount = .seconds(30)

    private var marks: Deque<Mark> = []
    private var acknowledgedMarks = 0
    /// The total time in which the connection moved.
    private var elapsed: TimeAmount = .zero
    private var lastLook: NIODeadline?
    private var lastAcknowledged: UInt64 = 0
    private var sent: UInt64 = 0
    /// How long bytes have waited without any acknowledgement; nil if no bytes wait.
    private(set) var stalledFor: TimeAmount?
    /// How long the peer has been silent about everything that was written and is not settled; nil while some of it is
    /// not acknowledged, or while input is unread.
    private(set) var quietFor: TimeAmount?
    /// The sequence number before which the peer was silent for the settle time, if silence settles nothing.
    private(set) var earnedTo: UInt64?
    /// Whether the system reports acknowledgements, as far as was seen.
    private(set) var showsAcknowledgements = true

    package init() {}

    /// Whether bytes have waited so long that the path to the peer is broken. The limit is far above a round trip. With
    /// a smaller one, a notification that makes the peer close would look like a broken path, and would never be found.
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

    /// Returns the sequence number from which on no notification can have left, if the kernel has taken `handed` bytes
    /// of the stream; nil if all may have left.
    ///
    /// A flush that the kernel took in part counts as taken. So does a flush that is being made.
    func keptBack(handed: UInt64) -> UInt64? {
        self.marks.first { $0.offset > handed }?.end
    }

    /// Returns when to look next; nil if no notification waits.
    ///
    /// - Parameter time: the shortest silence that counts.
    func nextLook(for time: TimeAmount) -> NIODeadline? {
        guard let lastLook, !self.marks.isEmpty else { return nil }
        return lastLook + Self.interval(time)
    }

    /// Takes a sample. Returns the sequence number before which the peer was silent for `settleTime`, if any.
    ///
    /// - Parameters:
    ///   - quietTime: the shortest silence that counts; nil for the settle time.
    ///   - settles: whether silence settles anything. If not, ``earnedTo`` notes how far it would.
    package mutating func look(
        _ sample: TransportSample,
        settleTime: TimeAmount,
        quietTime: TimeAmount? = nil,
        settles: Bool,
        now: NIODeadline
    ) -> UInt64? {
        let interval = Self.interval(min(quietTime ?? settleTime, settleTime))
        // The bound leaves out the time in which this process was stopped. That was not the peer's silence.
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

    /// Drops the marks of notifications that got their outcome in another way.
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
