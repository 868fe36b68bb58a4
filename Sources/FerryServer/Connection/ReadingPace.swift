package import NIOCore

/// When a connection that is read slowly is read next.
package struct ReadingPace: Hashable, Sendable {
    /// How often a second to read, so that a slow reader is even.
    private static let timesPerSecond = 20
    /// Nothing is gained by reading more at once.
    private static let longestChunk = 65_536

    private let bytesPerSecond: Int
    /// The time of the next read.
    package private(set) var due = NIODeadline.uptimeNanoseconds(0)

    /// - Parameter bytesPerSecond: at least 1.
    package init(bytesPerSecond: Int) {
        self.bytesPerSecond = bytesPerSecond
    }

    /// How many bytes to read at once.
    package static func chunk(bytesPerSecond: Int) -> Int {
        min(max(bytesPerSecond / self.timesPerSecond, 1), self.longestChunk)
    }

    /// Bytes were read.
    package mutating func read(_ count: Int, at now: NIODeadline) {
        self.due = max(self.due, now) + .nanoseconds(Int64(count) * 1_000_000_000 / Int64(self.bytesPerSecond))
    }
}
