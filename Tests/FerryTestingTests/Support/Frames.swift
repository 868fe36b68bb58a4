internal import FerryCore
internal import NIOCore

/// A notification of command 2, written by hand so that nothing of Ferry's encoder is needed.
func frame(_ identifier: UInt32, token: [UInt8], payload: String = "{}") -> [UInt8] {
    var items = ByteBuffer()
    items.writeMultipleIntegers(3 as UInt8, 4 as UInt16, identifier)
    items.writeMultipleIntegers(1 as UInt8, UInt16(token.count))
    items.writeBytes(token)
    items.writeMultipleIntegers(2 as UInt8, UInt16(payload.utf8.count))
    items.writeString(payload)
    var frame = ByteBuffer()
    frame.writeMultipleIntegers(2 as UInt8, UInt32(items.readableBytes))
    frame.writeBuffer(&items)
    return Array(frame.readableBytesView)
}

/// Frames with these identifiers, each to a token of its own.
func frames(_ identifiers: ClosedRange<UInt32>) -> [UInt8] {
    identifiers.flatMap { frame($0, token: token($0)) }
}

/// A token of 32 bytes that ends with the number.
func token(_ number: UInt32) -> [UInt8] {
    [UInt8](repeating: 0xab, count: 28) + (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * $0)) }
}

func device(_ number: UInt32) -> DeviceToken {
    DeviceToken(unchecked: token(number))
}

/// The six bytes of an error response.
func response(_ status: UInt8, _ identifier: UInt8) -> [UInt8] {
    [8, status, 0, 0, 0, identifier]
}
