package import FerryCore

extension Reason {
    /// The length of the payload counts its characters, and not its bytes.
    package static let payloadLengthInCharacters = Reason(rawValue: "PayloadLengthInCharacters")
}

/// Finds out whether the length of a payload counts characters, and not bytes. Programs that take the length of a
/// string make this fault with the first payload that is not ASCII. The rest of the payload then looks like the next
/// notification.
enum CharacterLength {
    /// - Parameters:
    ///   - payload: the range that the length gives. It holds no JSON object.
    ///   - bytes: everything that was received with it.
    static func isLength(of payload: Range<Int>, in bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        // Strings of C# and Java count a letter beyond U+FFFF twice.
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
