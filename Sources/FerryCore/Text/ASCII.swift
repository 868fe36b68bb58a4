extension UInt8 {
    /// Whether the byte is a letter or a digit of ASCII.
    package var isASCIIAlphanumeric: Bool {
        (self | 0x20) &- UInt8(ascii: "a") < 26 || self &- UInt8(ascii: "0") < 10
    }

    /// Whether the byte is of the alphabet of Base64, or its padding (RFC 4648, section 4).
    package var isBase64: Bool { self.isASCIIAlphanumeric || "+/=".utf8.contains(self) }
}
