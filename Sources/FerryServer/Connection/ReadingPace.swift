package import NIOCore

/// The pace of a connection that is read slowly: the earliest time of the next read, and the bytes of one read.
package struct ReadingPace: Hashable, Sendable {
    /// The number of reads per second. With fewer reads, the bytes would come in bursts.
    private static let timesPerSecond = 20
    /// The largest read, in bytes. Larger reads gain nothing.
    private static let longestChunk = 65_536

    private let bytesPerSecond: Int
    /// The earliest time of the next read.
    package private(set) var due = NIODeadline.uptimeNanoseconds(0)

    /// - Parameter bytesPerSecond: at least 1.
    package init(bytesPerSecond: Int) {
        self.bytesPerSecond = bytesPerSecond
    }

    /// Returns the number of bytes to read at once, from 1 to 65,536.
    package static func chunk(bytesPerSecond: Int) -> Int {
        min(max(bytesPerSecond / self.timesPerSecond, 1), self.longestChunk)
    }

    /// Records that `count` bytes were read, and moves ``due``.
    package mutating func read(_ count: Int, at now: NIODeadline) {
        self.due = max(self.due, now) + .nanoseconds(Int64(count) * 1_000_000_000 / Int64(self.bytesPerSecond))
    }
}
