/// The identifier of a notification on HTTP/2, `apns-id`: a UUID in lower case.
public struct APNSID: Hashable, Sendable, CustomStringConvertible {
    private let high: UInt64
    private let low: UInt64

    private init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Returns a random UUID (version 4, RFC 9562).
    public static func random() -> APNSID {
        var generator = SystemRandomNumberGenerator()
        return self.random(using: &generator)
    }

    package static func random(using generator: inout some RandomNumberGenerator) -> APNSID {
        APNSID(randomHigh: generator.next(), low: generator.next())
    }

    /// A UUID of random bits (version 4, RFC 9562): 60 of `randomHigh` and 62 of `low`.
    package init(randomHigh high: UInt64, low: UInt64) {
        self.high = high & 0xffff_ffff_ffff_0fff | 0x4000
        self.low = low & 0x3fff_ffff_ffff_ffff | 0x8000_0000_0000_0000
    }

    /// A UUID whose bits the maker chose (version 8, RFC 9562): 60 bits of `node` and 62 bits of `number`.
    package init(node: UInt64, number: UInt64) {
        self.high = node & 0xffff_ffff_ffff_0fff | 0x8000
        self.low = number & 0x3fff_ffff_ffff_ffff | 0x8000_0000_0000_0000
    }

    /// - Parameter string: 32 hexadecimal digits of either case in groups of 8-4-4-4-12.
    /// - Throws: ``PushValidationError`` with ``PushValidationError/Code/badAPNSID`` when `string` has another form.
    public init(_ string: String) throws(PushValidationError) {
        guard let value = Self.parse(string.utf8) else {
            throw PushValidationError([.init(.badAPNSID, "the apns-id is not a UUID of the form 8-4-4-4-12")])
        }
        self = value
    }

    package static func parse(_ characters: some Collection<UInt8>) -> APNSID? {
        guard characters.count == self.textLength else { return nil }
        var (high, low): (UInt64, UInt64) = (0, 0)
        for (index, character) in characters.enumerated() {
            if self.isHyphen(at: index) {
                guard character == UInt8(ascii: "-") else { return nil }
            } else {
                guard let nibble = DeviceToken.nibble(character) else { return nil }
                high = high << 4 | low >> 60
                low = low << 4 | UInt64(nibble)
            }
        }
        return APNSID(high: high, low: low)
    }

    /// The UUID in lower case, 8-4-4-4-12.
    public var description: String {
        String(unsafeUninitializedCapacity: Self.textLength) { target in
            self.writeText(to: target)
            return Self.textLength
        }
    }

    /// The number of hexadecimal digits and hyphens of a UUID in text.
    package static let textLength = 36

    /// Writes the UUID in lower case to `target`, which has room for ``textLength`` bytes.
    package func writeText(to target: UnsafeMutableBufferPointer<UInt8>) {
        let digits: StaticString = "0123456789abcdef"
        var (high, low) = (self.high, self.low)
        for index in 0..<Self.textLength {
            guard !Self.isHyphen(at: index) else {
                target[index] = UInt8(ascii: "-")
                continue
            }
            target[index] = digits.utf8Start[Int(high >> 60)]
            high = high << 4 | low >> 60
            low <<= 4
        }
    }

    @inline(__always)
    private static func isHyphen(at index: Int) -> Bool {
        index == 8 || index == 13 || index == 18 || index == 23
    }

    /// Writes the 16 bytes, big-endian.
    package func write(to target: UnsafeMutablePointer<UInt8>) {
        let target = UnsafeMutableRawPointer(target)
        target.storeBytes(of: self.high.bigEndian, as: UInt64.self)
        target.storeBytes(of: self.low.bigEndian, toByteOffset: 8, as: UInt64.self)
    }

    /// Reads the 16 bytes that ``write(to:)`` wrote.
    package init(reading source: UnsafePointer<UInt8>) {
        let source = UnsafeRawPointer(source)
        self.high = UInt64(bigEndian: source.loadUnaligned(as: UInt64.self))
        self.low = UInt64(bigEndian: source.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
    }
}
