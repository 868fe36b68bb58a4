/// The token that APNs knows an app on a device by: 1 to 100 opaque bytes, 32 in practice.
///
/// Its description shows only its length: tokens do not belong into logs. ``hex`` is the token itself.
public struct DeviceToken: Hashable, Sendable, CustomStringConvertible {
    /// Apple's cap ("Binary Provider API", item 1).
    public static let maximumLength = 100

    public let bytes: [UInt8]

    /// - Throws: ``ValidationError`` when `bytes` is empty or longer than ``maximumLength``.
    public init(_ bytes: some Sequence<UInt8>) throws(ValidationError) {
        let bytes = Array(bytes)
        let faults = Self.faults(length: bytes.count)
        guard faults.isEmpty else { throw ValidationError(faults) }
        self.bytes = bytes
    }

    /// - Parameter hex: an even number of hexadecimal digits of either case, and nothing else.
    /// - Throws: ``ValidationError`` that says what is wrong with the digits or with the length.
    public init(hex: String) throws(ValidationError) {
        var hex = hex
        let result = hex.withUTF8 { digits -> Result<[UInt8], ValidationError> in
            guard digits.count.isMultiple(of: 2) else {
                return .failure(ValidationError([.init(.oddHex, "a device token has an even number of hex digits")]))
            }
            var bytes: [UInt8] = []
            bytes.reserveCapacity(digits.count / 2)
            for index in stride(from: 0, to: digits.count, by: 2) {
                guard let high = Self.nibble(digits[index]), let low = Self.nibble(digits[index + 1]) else {
                    return .failure(ValidationError([.init(.notHex, "a device token has only hex digits")]))
                }
                bytes.append(high << 4 | low)
            }
            return .success(bytes)
        }
        try self.init(result.get())
    }

    package init(unchecked bytes: some Sequence<UInt8>) {
        self.bytes = Array(bytes)
    }

    /// The token as lower-case hexadecimal digits.
    public var hex: String {
        let digits: StaticString = "0123456789abcdef"
        return String(unsafeUninitializedCapacity: self.bytes.count * 2) { target in
            for (index, byte) in self.bytes.enumerated() {
                target[index * 2] = digits.utf8Start[Int(byte >> 4)]
                target[index * 2 + 1] = digits.utf8Start[Int(byte & 15)]
            }
            return self.bytes.count * 2
        }
    }

    public var description: String { "device token of \(self.bytes.count) bytes" }

    package static func faults(length: Int) -> [ValidationError.Fault] {
        if length == 0 { return [.init(.emptyToken, "the device token is empty")] }
        guard length <= self.maximumLength else {
            return [.init(.tokenTooLong, "the device token has \(length) bytes; the limit is \(self.maximumLength)")]
        }
        return []
    }

    /// The value of a hexadecimal digit.
    @inline(__always)
    package static func nibble(_ digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit &- UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit &- UInt8(ascii: "a") &+ 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit &- UInt8(ascii: "A") &+ 10
        default: nil
        }
    }

    /// A hash that is the same in every run and on every machine, so that a device keeps its connection and its share
    /// of a migration. Tokens are random, but not all 32 bits of any one word of every token are: FNV-1a over all.
    package static func stableHash(_ token: UnsafeBufferPointer<UInt8>) -> UInt32 {
        var words = UnsafeRawBufferPointer(token)
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        while words.count >= 8 {
            hash = (hash ^ words.loadUnaligned(as: UInt64.self).littleEndian) &* 0x0000_0100_0000_01b3
            hash ^= hash >> 29
            words = UnsafeRawBufferPointer(rebasing: words[8...])
        }
        for byte in words {
            hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01b3
        }
        return UInt32(truncatingIfNeeded: hash ^ (hash >> 32))
    }
}
