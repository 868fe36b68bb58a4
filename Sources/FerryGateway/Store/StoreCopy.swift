internal import NIOCore

/// A copy of a store in a file of its own.
package struct StoreCopy: Hashable, Codable, Sendable {
    package var path: String
    /// The time of the last commit that can be in the copy, in UNIX seconds.
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
    /// The file system on which the copy must be: that of the store. The store's thread writes the copy, and each commit
    /// writes into it, so another disk that hangs would stop the gateway. Nil if the store was opened for a copy alone.
    var device: UInt64?

    /// Whether a gateway has the store, so that commits wait for the copy.
    var isInUse: Bool { self.device != nil }
}

/// The row of ``StoreTable/copy``. A copy has it, and the first start with the copy removes it.
///
/// The value is the time of the copy in UNIX seconds (4), big-endian.
enum CopyRow {
    static let key = Array("copy".utf8)

    static func value(at time: UInt32) -> [UInt8] { Array(buffer: ByteBuffer(integer: time)) }

    /// The time of the copy; nil if the row has another form.
    static func time(_ row: StoreRow) -> UInt32? {
        guard row.key == self.key else { return nil }
        var value = ByteBuffer(bytes: row.value)
        return value.readInteger()
    }
}
