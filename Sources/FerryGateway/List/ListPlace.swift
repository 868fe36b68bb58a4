/// A place in a file. It still identifies the file after a rename.
///
/// ```
///   0        8       16        24
///   ┌────────┬───────┬─────────┐
///   │ device │ inode │ offset  │   big-endian
///   └────────┴───────┴─────────┘
/// ```
struct ListPlace: Hashable, Sendable {
    private static let length = 24

    var device: UInt64
    var inode: UInt64
    var offset: UInt64

    init(device: UInt64, inode: UInt64, offset: UInt64) {
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
