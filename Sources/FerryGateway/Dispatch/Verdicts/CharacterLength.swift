package import FerryCore

extension Reason {
    /// The length of a payload counts characters instead of bytes.
    package static let payloadLengthInCharacters = Reason(rawValue: "PayloadLengthInCharacters")
}

/// Recognizes a payload length that counts characters instead of bytes. Programs that send the length of a string make
/// this fault with their first payload that is not ASCII. The end of the payload then looks like the start of the next
/// notification.
enum CharacterLength {
    /// - Parameters:
    ///   - payload: the range that the length in the frame gives. The bytes of this range are no JSON object.
    ///   - bytes: all bytes that were received with the notification.
    static func isLength(of payload: Range<Int>, in bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        // Strings of C# and Java count a character beyond U+FFFF as two, so both ways of counting are tried.
        [1, 2].contains { self.isLength(of: payload, in: bytes, ofLongLetters: $0) }
    }

    private static func isLength(
        of payload: Range<Int>,
        in bytes: UnsafeBufferPointer<UInt8>,
        ofLongLetters weight: Int
    ) -> Bool {
        var end = payload.lowerBound
        var count = 0
        while end < bytes.count {
            let isContinued = bytes[end] & 0xc0 == 0x80
            if !isContinued {
                guard count < payload.count else { break }
                count += bytes[end] >= 0xf0 ? weight : 1
            }
            end += 1
        }
        guard count == payload.count, end > payload.upperBound else { return false }
        return JSONScanner.isObject(UnsafeBufferPointer(rebasing: bytes[payload.lowerBound..<end]))
    }
}
