internal import NIOCore

/// Writes that were not encrypted yet, in order, with a mark at the last flush.
struct PendingWrites {
    struct Batch {
        /// The buffers to encrypt. Neighbours are joined.
        var buffers: [ByteBuffer] = []
        var promises: [EventLoopPromise<Void>] = []
    }

    /// The length from which a buffer gets separate records. Joining it would cost more than it saves.
    private static let joinedLength = 1 << 14

    private var writes = MarkedCircularBuffer<(buffer: ByteBuffer, promise: EventLoopPromise<Void>?)>(
        initialCapacity: 1
    )
    private(set) var bytes = 0

    mutating func append(_ buffer: ByteBuffer, _ promise: EventLoopPromise<Void>?) {
        self.bytes += buffer.readableBytes
        self.writes.append((buffer, promise))
    }

    /// Marks all writes so far as ready to be sent.
    mutating func mark() {
        self.writes.mark()
    }

    /// Takes the marked writes.
    mutating func takeMarked() -> Batch {
        var batch = Batch()
        guard self.writes.hasMark else { return batch }
        // Many small writes become few records; a long one is not copied.
        var isJoining = false
        while self.writes.hasMark, let (buffer, promise) = self.writes.popFirst() {
            self.bytes -= buffer.readableBytes
            if let promise { batch.promises.append(promise) }
            if buffer.readableBytes == 0 { continue }
            let isShort = buffer.readableBytes < Self.joinedLength
            if isShort, isJoining {
                batch.buffers[batch.buffers.count - 1].writeImmutableBuffer(buffer)
            } else {
                batch.buffers.append(buffer)
            }
            isJoining = isShort
        }
        return batch
    }

    /// Takes all writes, marked or not.
    mutating func takeAll() -> Batch {
        self.writes.mark()
        return self.takeMarked()
    }
}
