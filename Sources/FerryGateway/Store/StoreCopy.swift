internal import NIOCore

/// A copy of a store in a file of its own.
package struct StoreCopy: Hashable, Codable, Sendable {
    package var path: String
    /// When the last page was copied, in UNIX seconds. The copy has no later commits.
    package var copiedAt: UInt32
    package var bytes: Int

    package init(path: String, copiedAt: UInt32, bytes: Int) {
        self.path = path
        self.copiedAt = copiedAt
        self.bytes = bytes
    }
}

/// The facts about a store that a copy needs.
struct CopyClaim: Sendable {
    /// The bytes of the store with its log.
    var size: Int
    /// The epoch that the copy gets.
    var epoch: UInt64
    /// The number of the store's file system; nil if the store was opened for a copy alone. The copy must be on the
    /// same file system. The store's thread writes the copy, and each commit also writes into the copy. So a copy on
    /// another disk would stop the gateway if that disk hung.
    var device: UInt64?

    /// Whether a gateway has the store, so that commits wait for the copy.
    var isInUse: Bool { self.device != nil }
}

/// The row of ``StoreTable/copy``. Only a copy has this row. The first commit to the copy removes the row.
///
/// An older version of Ferry does not know the row, and does not remove it. So the row counts only until the copy has a
/// commit of its own.
///
/// The value is the time of the copy in UNIX seconds (4) and the epoch of the copy (8), big-endian.
enum CopyRow {
    static let key = Array("copy".utf8)

    static func value(at time: UInt32, epoch: UInt64) -> [UInt8] {
        var value = ByteBuffer()
        value.writeMultipleIntegers(time, epoch)
        return Array(buffer: value)
    }

    /// The time of the copy; nil if a gateway has written to the copy since, or the row has another form.
    ///
    /// - Parameter last: the number of the last commit in the store.
    static func time(_ row: StoreRow, last: UInt64) -> UInt32? {
        var value = ByteBuffer(bytes: row.value)
        guard row.key == self.key, let (time, epoch) = value.readMultipleIntegers(as: (UInt32, UInt64).self),
            Journal.epochs.contains(epoch), last < Journal.firstNumber(of: epoch + 1)
        else { return nil }
        return time
    }
}
