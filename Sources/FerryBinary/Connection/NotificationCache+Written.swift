internal import FerryCore
internal import FerryMachine
internal import NIOCore

extension NotificationCache {
    /// Notifications that were written together, one after the other.
    struct Written {
        var run: BatchRun
        var first: UInt64
        var writtenAt: NIODeadline
        /// When the notifications were settled. Used only in the history.
        var settledAt: NIODeadline = .uptimeNanoseconds(0)

        var end: UInt64 { self.first + UInt64(self.run.count) }

        mutating func takeFirst(_ count: Int) -> Written {
            var head = self
            head.run = self.run.takeFirst(count)
            self.first += UInt64(count)
            return head
        }

        /// Cuts off and returns the notifications before the sequence number `end`.
        mutating func takeFirst(before end: UInt64) -> Written {
            guard end > self.first else { return self.takeFirst(0) }
            return self.takeFirst(Int(min(end - self.first, UInt64(self.run.count))))
        }
    }

    /// The size of a cache's content.
    struct Content {
        var unsettled = 0
        /// The bytes of the unsettled notifications.
        var unsettledBytes = 0
        /// The number of settled notifications that still have their bytes.
        var retained = 0
        var retainedBytes = 0

        mutating func add(_ other: Content) {
            self.unsettled += other.unsettled
            self.unsettledBytes += other.unsettledBytes
            self.retained += other.retained
            self.retainedBytes += other.retainedBytes
        }
    }
}
