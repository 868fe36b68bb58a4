internal import NIOCore

/// A segment of the journal: the records of one group commit.
///
/// ```
///   0        4         5          6           6 + n       14 + n
///   ┌────────┬─────────┬──────────┬───────────┬───────────┐
///   │ "FRYJ" │ version │ reserved │ records n │ checksum  │
///   └────────┴─────────┴──────────┴───────────┴───────────┘
/// ```
///
/// The checksum is a keyed hash of everything before it: SQLite does not notice a byte that a disk has changed.
enum Segment {
    /// The hash of bytes.
    typealias Checksum = ([UInt8]) -> UInt64

    private static let magic: UInt32 = 0x4652_594a
    private static let version: UInt8 = 1
    static let headerLength = 6
    private static let checksumLength = 8

    /// Returns a segment without records.
    static func begin(capacity: Int) -> ByteBuffer {
        var buffer = ByteBufferAllocator().buffer(capacity: capacity)
        buffer.writeMultipleIntegers(Self.magic, Self.version, UInt8(0))
        return buffer
    }

    static func end(_ buffer: ByteBuffer, _ checksum: Checksum) -> [UInt8] {
        var bytes = Array(buffer.readableBytesView)
        let sum = checksum(bytes)
        bytes.append(contentsOf: withUnsafeBytes(of: sum.bigEndian) { Array($0) })
        return bytes
    }

    /// Calls `body` with each record.
    ///
    /// - Throws: ``StoreError`` when the bytes are damaged, or of a version that this one does not know.
    static func read(
        _ segment: StoredSegment,
        _ checksum: Checksum,
        _ body: (JournalRecord) -> Void
    ) throws(StoreError) {
        let damaged = StoreError(
            "Segment \(segment.number) of the store is damaged. Notifications in it may be lost: restore the file, or move it "
                + "away to begin anew."
        )
        var buffer = ByteBuffer(bytes: segment.bytes.dropLast(Self.checksumLength))
        guard segment.bytes.count >= Self.headerLength + Self.checksumLength,
            let (magic, version, _) = buffer.readMultipleIntegers(as: (UInt32, UInt8, UInt8).self), magic == Self.magic,
            segment.bytes.suffix(Self.checksumLength).reduce(UInt64(0), { $0 << 8 | UInt64($1) })
                == checksum(Array(segment.bytes.dropLast(Self.checksumLength)))
        else { throw damaged }
        guard version == Self.version else {
            throw StoreError(
                "The store was written by a newer version of ferry, which knows segments of version \(version)."
            )
        }
        while buffer.readableBytes > 0 {
            guard let record = buffer.readRecord() else { throw damaged }
            body(record)
        }
    }
}
