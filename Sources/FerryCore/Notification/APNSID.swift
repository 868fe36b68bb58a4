/// The identity of a notification on HTTP/2, `apns-id`: a UUID, written in lower case.
public struct APNSID: Hashable, Sendable, CustomStringConvertible {
    private let high: UInt64
    private let low: UInt64

    private init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// A random UUID (version 4, RFC 9562).
    public static func random() -> APNSID {
        var generator = SystemRandomNumberGenerator()
        return self.random(using: &generator)
    }

    package static func random(using generator: inout some RandomNumberGenerator) -> APNSID {
        APNSID(
            high: generator.next() & 0xffff_ffff_ffff_0fff | 0x4000,
            low: generator.next() & 0x3fff_ffff_ffff_ffff | 0x8000_0000_0000_0000
        )
    }

    /// - Parameter string: 32 hexadecimal digits of either case in groups of 8-4-4-4-12.
    /// - Throws: ``ValidationError`` when `string` has another form.
    public init(_ string: String) throws(ValidationError) {
        var words: [UInt64] = [0, 0]
        var digits = 0
        var valid = string.utf8.count == 36
        for (index, character) in string.utf8.enumerated() where valid {
            if [8, 13, 18, 23].contains(index) {
                valid = character == UInt8(ascii: "-")
            } else if let nibble = DeviceToken.nibble(character) {
                words[digits / 16] = words[digits / 16] << 4 | UInt64(nibble)
                digits += 1
            } else {
                valid = false
            }
        }
        guard valid else {
            throw ValidationError([.init(.badAPNSID, "the apns-id is not a UUID of the form 8-4-4-4-12")])
        }
        self.init(high: words[0], low: words[1])
    }

    public var description: String {
        let digits = Self.hex(self.high) + Self.hex(self.low)
        var result = ""
        for (index, digit) in digits.enumerated() {
            if [8, 12, 16, 20].contains(index) { result.append("-") }
            result.append(digit)
        }
        return result
    }

    private static func hex(_ word: UInt64) -> String {
        let digits = String(word, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    /// Writes the 16 bytes, big-endian.
    package func write(to target: UnsafeMutablePointer<UInt8>) {
        let target = UnsafeMutableRawPointer(target)
        target.storeBytes(of: self.high.bigEndian, as: UInt64.self)
        target.storeBytes(of: self.low.bigEndian, toByteOffset: 8, as: UInt64.self)
    }

    package init(reading source: UnsafePointer<UInt8>) {
        let source = UnsafeRawPointer(source)
        self.high = UInt64(bigEndian: source.loadUnaligned(as: UInt64.self))
        self.low = UInt64(bigEndian: source.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
    }
}
