internal import FerryCore
internal import NIOCore

/// Returns a notification of command 2. It is built by hand: with Ferry's encoder, a test could miss an error that the
/// encoder shares with the decoder.
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

/// Returns frames with these identifiers, each with a different token.
func frames(_ identifiers: ClosedRange<UInt32>) -> [UInt8] {
    identifiers.flatMap { frame($0, token: token($0)) }
}

/// Returns a token of 32 bytes that ends with the number.
func token(_ number: UInt32) -> [UInt8] {
    [UInt8](repeating: 0xab, count: 28) + (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * $0)) }
}

func device(_ number: UInt32) -> DeviceToken {
    DeviceToken(unchecked: token(number))
}

/// Returns the six bytes of an error response.
func response(_ status: UInt8, _ identifier: UInt8) -> [UInt8] {
    [8, status, 0, 0, 0, identifier]
}
