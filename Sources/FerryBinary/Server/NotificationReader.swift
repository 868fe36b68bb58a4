package import NIOCore

/// Finds the notifications in a client's stream, which may be split anywhere, and keeps the one that is not complete.
///
/// It holds at most one incomplete notification, which the decoder bounds, and what its last piece brought beyond it.
package struct NotificationReader: Sendable {
    /// What stands in a stream.
    package enum Item: Hashable, Sendable {
        /// A notification that a server can take.
        case notification(NotificationFrame)
        /// A whole notification that is faulty. Those behind it can still be read.
        case refused(NotificationRefusal)
        /// No notification. Where the next one would begin is not known.
        case violation(NotificationViolation)
    }

    /// Whether the items behind one are wanted now.
    package enum Next: Hashable, Sendable {
        case goOn
        case stop
    }

    private let decoder: NotificationDecoder
    /// What was received and not found in an item.
    private var pending = ByteBuffer()

    package init(_ decoder: NotificationDecoder) {
        self.decoder = decoder
    }

    /// Bytes that belong to no item found so far.
    package var pendingBytes: Int { self.pending.readableBytes }

    /// Takes bytes and gives out what is complete, in order.
    ///
    /// - Parameter body: gets each item and the bytes that its ranges refer to, which are valid during the call. When it
    ///   says `stop`, the rest waits for the next bytes. A violation stops in any case: its bytes are never taken.
    package mutating func read(_ bytes: consuming ByteBuffer, _ body: (Item, Span<UInt8>) -> Next) {
        if self.pending.readableBytes > 0 {
            self.pending.writeBuffer(&bytes)
            bytes = self.pending
            self.pending = ByteBuffer()
        }
        var offset = 0
        do {
            let span = bytes.readableBytesUInt8Span
            var next = Next.goOn
            reading: while next == .goOn {
                switch self.decoder.decode(span.bytes, at: offset) {
                case .needMore:
                    break reading
                case .notification(let frame):
                    offset += frame.length
                    next = body(.notification(frame), span)
                case .refused(let refusal):
                    offset += refusal.length
                    next = body(.refused(refusal), span)
                case .violation(let violation):
                    _ = body(.violation(violation), span)
                    next = .stop
                }
            }
        }
        bytes.moveReaderIndex(forwardBy: offset)
        // A buffer of which something was read is not kept: appending would never give that part back.
        self.pending = offset == 0 ? bytes : ByteBuffer(bytes: bytes.readableBytesView)
    }
}
