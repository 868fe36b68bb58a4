/// Base64 in the alphabet for URLs, without padding.
///
/// Source: RFC 4648, section 5; RFC 7515 (JWS), section 2.
package enum Base64URL {
    package static func encode(_ bytes: some Collection<UInt8>) -> [UInt8] {
        // A generic loop in another module costs a call for each byte.
        bytes.withContiguousStorageIfAvailable { self.encode($0) }
            ?? Array(bytes).withUnsafeBufferPointer { self.encode($0) }
    }

    private static func encode(_ bytes: UnsafeBufferPointer<UInt8>) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count * 4 + 2) / 3)
        var bits: UInt32 = 0
        var count: UInt32 = 0
        for byte in bytes {
            bits = bits << 8 | UInt32(byte)
            count += 8
            while count >= 6 {
                count -= 6
                text.append(self.digit(bits >> count & 0x3f))
            }
        }
        if count > 0 { text.append(self.digit(bits << (6 - count) & 0x3f)) }
        return text
    }

    /// Returns the bytes. Returns nil for other characters, for padding and for an ending that no encoder writes, so
    /// that every result has exactly one text.
    package static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
        text.withContiguousStorageIfAvailable { self.decode($0) }
            ?? Array(text).withUnsafeBufferPointer { self.decode($0) }
    }

    private static func decode(_ text: UnsafeBufferPointer<UInt8>) -> [UInt8]? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count * 3 / 4)
        var bits: UInt32 = 0
        var count: UInt32 = 0
        for digit in text {
            guard let value = self.value(digit) else { return nil }
            bits = bits << 6 | value
            count += 6
            guard count >= 8 else { continue }
            count -= 8
            bytes.append(UInt8(truncatingIfNeeded: bits >> count))
        }
        // At the end 0, 2 or 4 bits may be left, all zero. Six bits are left if there is one digit too many.
        guard count < 6, bits & (1 << count - 1) == 0 else { return nil }
        return bytes
    }

    private static func digit(_ value: UInt32) -> UInt8 {
        let value = UInt8(truncatingIfNeeded: value)
        return switch value {
        case 0..<26: UInt8(ascii: "A") + value
        case 26..<52: UInt8(ascii: "a") + (value - 26)
        case 52..<62: UInt8(ascii: "0") + (value - 52)
        case 62: UInt8(ascii: "-")
        default: UInt8(ascii: "_")
        }
    }

    private static func value(_ digit: UInt8) -> UInt32? {
        switch digit {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(digit - UInt8(ascii: "A"))
        case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(digit - UInt8(ascii: "a")) + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(digit - UInt8(ascii: "0")) + 52
        case UInt8(ascii: "-"): 62
        case UInt8(ascii: "_"): 63
        default: nil
        }
    }
}
