package import NIOCore

/// A reader of the notifications in a client's stream. It keeps the bytes of an incomplete notification until the rest
/// arrives.
///
/// It holds at most one incomplete notification, whose length the decoder bounds, and the bytes that arrived after it.
package struct NotificationReader: Sendable {
    /// One piece of the stream.
    package enum Item: Hashable, Sendable {
        /// A notification that a server can take.
        case notification(NotificationFrame)
        /// A whole notification that is faulty. The notifications after it can still be read.
        case refused(NotificationRefusal)
        /// Bytes that are not a notification. The start of the next notification is unknown.
        case violation(NotificationViolation)
    }

    /// Whether the reader continues with the next item.
    package enum Next: Hashable, Sendable {
        case goOn
        case stop
    }

    private let decoder: NotificationDecoder
    /// The received bytes that belong to no item so far.
    private var pending = ByteBuffer()

    package init(_ decoder: NotificationDecoder) {
        self.decoder = decoder
    }

    /// The number of bytes that belong to no item so far.
    package var pendingBytes: Int { self.pending.readableBytes }

    /// Takes bytes and calls `body` for each complete item, in order.
    ///
    /// - Parameter body: gets the item, and the bytes that its ranges refer to, valid during the call. After `stop` the
    ///   rest waits for the next bytes. A violation always stops, and its bytes are never taken.
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
        // A partly read buffer is copied: appending to it would never free the part that was read.
        self.pending = offset == 0 ? bytes : ByteBuffer(bytes: bytes.readableBytesView)
    }
}
