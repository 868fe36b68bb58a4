internal import NIOCore

/// A segment of the journal: the records of one group commit.
///
/// ```
///   0        4         5          6      22            30             34          34 + n      42 + n
///   ┌────────┬─────────┬──────────┬──────┬─────────────┬──────────────┬───────────┬───────────┐
///   │ "FRYJ" │ version │ reserved │ boot │ boot clock  │ UNIX seconds │ records n │ checksum  │
///   └────────┴─────────┴──────────┴──────┴─────────────┴──────────────┴───────────┴───────────┘
/// ```
///
/// The times show when the segment was closed: the boot (zeros if it is not known), the monotonic clock in
/// milliseconds, and the wall clock, which may be set back. Segments of version 1 have no times, and their records
/// begin at 6.
///
/// The checksum is a keyed hash of all bytes before it. Without it, a byte that the disk has changed would not be
/// noticed, because SQLite keeps no checksum of a row.
enum Segment {
    /// The keyed hash over the bytes of a segment.
    typealias Checksum = ([UInt8]) -> UInt64

    /// The length at which a segment is committed, in bytes. A shorter segment is committed after
    /// ``GatewayBounds/Journal/commitTime``, or immediately if an action waits for the segment and no commit is without
    /// an answer. A shorter segment stays open while ``GatewayBounds/Journal/underWay`` commits have no answer.
    static let limit = 256 << 10

    private static let magic: UInt32 = 0x4652_594a
    private static let version: UInt8 = 2
    /// The version of segments without times.
    private static let timeless: UInt8 = 1
    private static let timesFrom = 6
    static let headerLength = 34
    private static let checksumLength = 8

    /// Returns a segment without records.
    static func begin(capacity: Int) -> ByteBuffer {
        var buffer = ByteBufferAllocator().buffer(capacity: capacity)
        buffer.writeMultipleIntegers(Self.magic, Self.version, UInt8(0))
        buffer.writeRepeatingByte(0, count: Self.headerLength - Self.timesFrom)
        return buffer
    }

    static func end(_ buffer: ByteBuffer, _ time: SegmentTime, _ checksum: Checksum) -> [UInt8] {
        var bytes = Array(buffer.readableBytesView)
        var times = ByteBuffer(bytes: time.boot?.bytes ?? [UInt8](repeating: 0, count: BootIdentifier.length))
        times.writeMultipleIntegers(time.milliseconds, time.epochSeconds)
        bytes.replaceSubrange(Self.timesFrom..<Self.headerLength, with: times.readableBytesView)
        let sum = checksum(bytes)
        bytes.append(contentsOf: withUnsafeBytes(of: sum.bigEndian) { Array($0) })
        return bytes
    }

    /// Calls `body` with each record. Returns the time at which the segment was closed; nil for a segment of version 1.
    ///
    /// - Throws: ``StoreError`` when the bytes are damaged, or have a version that this release does not know.
    static func read(
        _ segment: StoredSegment,
        _ checksum: Checksum,
        _ body: (JournalRecord) -> Void
    ) throws(StoreError) -> SegmentTime? {
        let damaged = StoreError(
            "Segment \(segment.number) of the store is damaged. Notifications in it may be lost: restore the file, or move it "
                + "away to begin anew."
        )
        var buffer = ByteBuffer(bytes: segment.bytes.dropLast(Self.checksumLength))
        guard segment.bytes.count >= Self.timesFrom + Self.checksumLength,
            let (magic, version, _) = buffer.readMultipleIntegers(as: (UInt32, UInt8, UInt8).self), magic == Self.magic,
            segment.bytes.suffix(Self.checksumLength).reduce(UInt64(0), { $0 << 8 | UInt64($1) })
                == checksum(Array(segment.bytes.dropLast(Self.checksumLength)))
        else { throw damaged }
        var time: SegmentTime?
        switch version {
        case Self.timeless: break
        case Self.version:
            guard let boot = buffer.readBytes(length: BootIdentifier.length),
                let (milliseconds, seconds) = buffer.readMultipleIntegers(as: (UInt64, UInt32).self)
            else { throw damaged }
            let isKnown = boot.contains { $0 != 0 }
            time = SegmentTime(
                boot: isKnown ? BootIdentifier(boot) : nil,
                milliseconds: milliseconds,
                epochSeconds: seconds
            )
        default:
            throw StoreError(
                "The store was written by a newer version of ferry, which knows segments of version \(version)."
            )
        }
        while buffer.readableBytes > 0 {
            guard let record = buffer.readRecord() else { throw damaged }
            body(record)
        }
        return time
    }
}
