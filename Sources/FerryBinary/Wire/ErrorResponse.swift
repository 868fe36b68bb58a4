package import FerryCore
package import NIOCore

/// The only message of a gateway. It names a refused notification and the reason.
///
/// ```
/// 08 | u8 status | u32 identifier
/// ```
package struct ErrorResponse: Hashable, Sendable {
    /// The first byte of the message.
    package static let command: UInt8 = 8
    /// The number of bytes on the wire.
    package static let length = 6

    package var status: BinaryStatus
    /// The identifier from the client: four opaque bytes to a gateway.
    package var identifier: UInt32

    package init(status: BinaryStatus, identifier: UInt32) {
        self.status = status
        self.identifier = identifier
    }

    /// The six bytes as a number of 48 bits, with the first byte as the most significant.
    private var bits: UInt64 {
        UInt64(Self.command) << 40 | UInt64(self.status.rawValue) << 32 | UInt64(self.identifier)
    }

    package var bytes: [UInt8] {
        (0..<Self.length).map { UInt8(truncatingIfNeeded: self.bits >> (40 - 8 * $0)) }
    }

    package func write(to buffer: inout ByteBuffer) {
        buffer.writeMultipleIntegers(Self.command, self.status.rawValue, self.identifier)
    }
}

/// A reader of error responses from a stream that may be split anywhere.
///
/// Six complete bytes count even if a reset, the end of the stream or nothing follows.
package struct ErrorResponseDecoder: Sendable {
    /// The result of reading the bytes so far.
    package enum Step: Hashable, Sendable {
        /// All bytes are taken. A response may have begun.
        case needMore
        /// A whole response. Bytes after it are left in the buffer.
        case response(ErrorResponse)
        /// The peer does not speak the protocol: the first byte was not 8. No byte is taken, and later bytes have no
        /// meaning.
        case notAResponse(firstByte: UInt8)
    }

    /// The bytes of an incomplete response, right-aligned.
    private var bits: UInt64 = 0
    /// The number of bytes of an incomplete response; after the end of the stream, the length of a truncated response.
    package private(set) var pendingBytes = 0

    package init() {}

    /// Takes bytes up to the end of one response.
    package mutating func next(in buffer: inout ByteBuffer) -> Step {
        while let byte = buffer.getInteger(at: buffer.readerIndex, as: UInt8.self) {
            if self.pendingBytes == 0 && byte != ErrorResponse.command {
                return .notAResponse(firstByte: byte)
            }
            buffer.moveReaderIndex(forwardBy: 1)
            self.bits = self.bits << 8 | UInt64(byte)
            self.pendingBytes += 1
            if self.pendingBytes == ErrorResponse.length {
                return .response(self.finish())
            }
        }
        return .needMore
    }

    private mutating func finish() -> ErrorResponse {
        let response = ErrorResponse(
            status: BinaryStatus(rawValue: UInt8(truncatingIfNeeded: self.bits >> 32)),
            identifier: UInt32(truncatingIfNeeded: self.bits)
        )
        self.bits = 0
        self.pendingBytes = 0
        return response
    }
}
