/// The token that names an app on a device to APNs: 1 to 100 opaque bytes, 32 in practice.
///
/// The description shows only the length, because tokens do not belong in logs. ``hex`` is the token itself.
public struct DeviceToken: Hashable, Sendable, CustomStringConvertible {
    /// Apple's limit ("Binary Provider API", item 1).
    public static let maximumLength = 100

    /// The token itself: 1 to ``maximumLength`` bytes.
    public let bytes: [UInt8]

    /// - Throws: ``PushValidationError`` with ``PushValidationError/Code/emptyToken`` or ``PushValidationError/Code/tokenTooLong``.
    public init(_ bytes: some Sequence<UInt8>) throws(PushValidationError) {
        let bytes = Array(bytes)
        let faults = Self.faults(length: bytes.count)
        guard faults.isEmpty else { throw PushValidationError(faults) }
        self.bytes = bytes
    }

    /// - Parameter hex: an even number of hexadecimal digits of either case. Spaces, tabs and line ends are left out, and so
    ///   are angle brackets around all: `<00fc13ad 85652412>`, as `NSData` describes itself.
    /// - Throws: ``PushValidationError`` with every fault: ``PushValidationError/Code/oddHex``,
    ///   ``PushValidationError/Code/notHex``, and those of the length.
    public init(hex: String) throws(PushValidationError) {
        var hex = Self.digits(hex.utf8).map { String(decoding: $0, as: UTF8.self) } ?? hex
        let decoded = hex.withUTF8 { digits -> Result<[UInt8], PushValidationError> in
            let faults = Self.faults(hex: digits)
            guard faults.isEmpty else { return .failure(PushValidationError(faults)) }
            return .success(
                [UInt8](unsafeUninitializedCapacity: digits.count / 2) { target, count in
                    count = Self.decode(hex: digits, into: target) ? digits.count / 2 : 0
                }
            )
        }
        self.bytes = try decoded.get()
    }

    package init(unchecked bytes: some Sequence<UInt8>) {
        self.bytes = Array(bytes)
    }

    /// The token as lower-case hexadecimal digits.
    public var hex: String { self.bytes.hexadecimal }

    /// The length of the token, without its bytes.
    public var description: String { "device token of \(self.bytes.count) bytes" }

    package static func faults(length: Int) -> [PushValidationError.Fault] {
        if length == 0 { return [.init(.emptyToken, "the device token is empty")] }
        guard length <= self.maximumLength else {
            return [.init(.tokenTooLong, "the device token has \(length) bytes; the limit is \(self.maximumLength)")]
        }
        return []
    }

    package static func faults(hex digits: UnsafeBufferPointer<UInt8>) -> [PushValidationError.Fault] {
        var faults: [PushValidationError.Fault] = []
        if let message = ForeignToken(digits)?.sentence { return [.init(.notHex, message)] }
        let isHex = digits.allSatisfy { self.nibble($0) != nil }
        if !digits.count.isMultiple(of: 2) {
            let unit = isHex ? "hex digits" : "characters"
            faults.append(.init(.oddHex, "the device token has an odd number of \(unit): \(digits.count)"))
        }
        if !isHex {
            faults.append(.init(.notHex, "a device token has only hex digits"))
        }
        return faults + self.faults(length: (digits.count + 1) / 2)
    }

    /// Returns the digits of a text with white space or in angle brackets; nil if it has neither. Files have line ends, people
    /// copy spaces, and many programs stored what `NSData` says of itself: `<00fc13ad 85652412>`.
    package static func digits(_ text: some Collection<UInt8>) -> [UInt8]? {
        var digits = text.filter { !Self.isWhiteSpace($0) }
        if digits.count >= 2, digits.first == UInt8(ascii: "<"), digits.last == UInt8(ascii: ">") {
            digits = Array(digits.dropFirst().dropLast())
        }
        return digits.count < text.count ? digits : nil
    }

    private static func isWhiteSpace(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: " ") || (UInt8(ascii: "\t")...UInt8(ascii: "\r")).contains(byte)
    }

    /// Writes the bytes that `digits` stand for to `target`. False if a character is not a hexadecimal digit, if the
    /// number of digits is odd, or if `target` is too small; the bytes in `target` are then meaningless.
    ///
    /// Faults are gathered without a branch for each digit. Tokens are random, so the processor would guess every other
    /// branch wrong.
    package static func decode(
        hex digits: UnsafeBufferPointer<UInt8>,
        into target: UnsafeMutableBufferPointer<UInt8>
    ) -> Bool {
        guard digits.count.isMultiple(of: 2), target.count >= digits.count / 2 else { return false }
        var seen: UInt8 = 0
        for index in 0..<digits.count / 2 {
            let high = self.value(ofHex: digits[2 * index])
            let low = self.value(ofHex: digits[2 * index + 1])
            seen |= high | low
            target[index] = high << 4 | low & 15
        }
        return seen < 16
    }

    /// Returns the value of a hexadecimal digit.
    @inline(__always)
    package static func nibble(_ digit: UInt8) -> UInt8? {
        let value = self.value(ofHex: digit)
        return value < 16 ? value : nil
    }

    /// Returns the value of a hexadecimal digit; 255 for everything else. Without a branch.
    @inline(__always)
    private static func value(ofHex digit: UInt8) -> UInt8 {
        let decimal = digit &- UInt8(ascii: "0")
        let letter = (digit | 0x20) &- UInt8(ascii: "a")
        return decimal < 10 ? decimal : letter < 6 ? letter &+ 10 : .max
    }

    /// Returns a hash that is the same in every run and on every machine. With another one, a device would change its
    /// connection and its share of a migration. Tokens are random, but no fixed 32 bits are random in every token. So
    /// the hash is FNV-1a over all bytes.
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
        // The last bytes have not changed every bit yet, so the finaliser of MurmurHash3 follows.
        hash = (hash ^ (hash >> 33)) &* 0xff51_afd7_ed55_8ccd
        return UInt32(truncatingIfNeeded: hash ^ (hash >> 32))
    }
}
