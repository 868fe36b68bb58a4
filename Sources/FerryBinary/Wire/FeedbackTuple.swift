public import FerryCore
public import FerryPlatform
package import NIOCore

/// One entry of the feedback list: a device that lost the app, and when APNs found out.
///
/// ```
/// u32 time_t | u16 token length | token
/// ```
///
/// Source: Apple, "Binary Provider API".
public struct FeedbackTuple: Hashable, Sendable {
    /// The length of the fields before the token, in bytes.
    package static let headerLength = 6

    /// When APNs found that the app is gone, in whole seconds. An app that registered after that time is back.
    public var time: Date
    /// The token of the device.
    public var token: DeviceToken

    /// Creates an entry of a list. The protocol has 32 bits for the time: 1970 to 2106.
    public init(time: Date, token: DeviceToken) {
        self.time = time
        self.token = token
    }

    package func write(to buffer: inout ByteBuffer) {
        // A token has at most 100 bytes.
        buffer.writeMultipleIntegers(
            UInt32(clamping: self.time.unixSeconds),
            UInt16(truncatingIfNeeded: self.token.bytes.count)
        )
        buffer.writeBytes(self.token.bytes)
    }
}

/// A reader of feedback tuples from a stream that may be split anywhere.
///
/// A bad tuple costs only itself. A tuple with an empty token, or with a token that is too long, is skipped and
/// counted. A tuple that the end of the stream cuts off is lost.
package struct FeedbackDecoder: Sendable {
    /// The number of skipped tuples.
    package private(set) var skipped = 0
    private var buffer = ByteBuffer()

    package init() {}

    /// The number of bytes of an incomplete tuple; after the end of the stream, the length of a truncated tuple.
    package var pendingBytes: Int { self.buffer.readableBytes }

    /// Takes all of `bytes`. Call ``next()`` afterwards until it returns nil.
    package mutating func append(_ bytes: consuming ByteBuffer) {
        if self.buffer.readableBytes == 0 {
            self.buffer = bytes
        } else {
            // Without this call the buffer would keep all bytes that were ever read.
            self.buffer.discardReadBytes()
            self.buffer.writeBuffer(&bytes)
        }
    }

    /// Returns the next whole tuple with a usable token.
    package mutating func next() -> FeedbackTuple? {
        while true {
            let start = self.buffer.readerIndex
            guard let (time, length) = self.buffer.readMultipleIntegers(as: (UInt32, UInt16).self),
                let token = self.buffer.readSlice(length: Int(length))
            else {
                self.buffer.moveReaderIndex(to: start)
                return nil
            }
            if (1...DeviceToken.maximumLength).contains(Int(length)) {
                return FeedbackTuple(
                    time: Date(timeIntervalSince1970: Double(time)),
                    token: DeviceToken(unchecked: token.readableBytesView)
                )
            }
            self.skipped += 1
        }
    }
}
