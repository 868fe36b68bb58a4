/// The file of the list of rejections, as its owner sees it.
package protocol ListWriter: Sendable {
    /// Appends whole lines. The next call comes after the answer to this one.
    ///
    /// - Parameter then: called once, on any thread.
    func write(_ batch: ListBatch, then: @escaping @Sendable (ListAnswer) -> Void)

    /// Closes the file, without waiting for a disk that hangs.
    func close()
}

/// A batch of lines for the file.
package struct ListBatch: Hashable, Sendable {
    /// The lines, each with its line break. An empty list only asks for the place.
    package var lines: [[UInt8]]
    /// The place where the last batch ended; nil if it is not known. A killed process may have written some of these
    /// lines behind that place.
    package var after: ListPlace?
}

/// The answer to a batch.
package struct ListAnswer: Hashable, Sendable {
    /// The number of lines that are in the file now, from the first.
    package var count: Int
    /// The place after these lines; nil if the file is not a regular file.
    package var place: ListPlace?
    /// The reason why lines are missing; nil if all were written.
    package var trouble: String?
}

/// A place in a file. It still identifies the file after a rename.
///
/// ```
///   0        8       16        24
///   ┌────────┬───────┬─────────┐
///   │ device │ inode │ offset  │   big-endian
///   └────────┴───────┴─────────┘
/// ```
package struct ListPlace: Hashable, Sendable {
    private static let length = 24

    package var device: UInt64
    package var inode: UInt64
    package var offset: UInt64

    package init(device: UInt64, inode: UInt64, offset: UInt64) {
        self.device = device
        self.inode = inode
        self.offset = offset
    }

    init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.length else { return nil }
        self.init(
            device: UInt64(bigEndian: bytes[..<8]),
            inode: UInt64(bigEndian: bytes[8..<16]),
            offset: UInt64(bigEndian: bytes[16...])
        )
    }

    var bytes: [UInt8] { [self.device, self.inode, self.offset].flatMap(\.bigEndianBytes) }
}

extension UInt64 {
    /// Makes a number from eight bytes.
    init(bigEndian bytes: some Sequence<UInt8>) { self = bytes.reduce(0) { $0 << 8 | UInt64($1) } }

    var bigEndianBytes: [UInt8] { withUnsafeBytes(of: self.bigEndian) { Array($0) } }
}
