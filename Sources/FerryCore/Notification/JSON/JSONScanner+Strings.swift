extension JSONScanner {
    /// Steps over the string whose opening quote stands at the position.
    @inline(__always)
    package mutating func skipString() throws(JSONFault) -> JSONText {
        self.position += 1
        let start = self.position
        var isPlain = true
        while true {
            self.skipPlainRun()
            guard let byte = self.peek() else { throw self.fault(.endsEarly) }
            switch byte {
            case UInt8(ascii: "\""):
                let text = JSONText(range: start..<self.position, isPlain: isPlain)
                self.position += 1
                return text
            case UInt8(ascii: "\\"):
                isPlain = false
                try self.skipEscape()
            case 0..<0x20:
                throw self.fault(.controlCharacter)
            default:
                // Characters beyond ASCII mostly come in a row.
                repeat { try self.skipMultibyte() } while self.peek() ?? 0 >= 0x80
            }
        }
    }

    /// Steps over plain ASCII: eight bytes at a time, then one by one.
    ///
    /// A byte of `special` has its top bit set if the text's byte is a control character, a quote, a backslash or
    /// beyond ASCII. The borrows of the subtractions may set wrong bits after the first such byte. Only the first is
    /// used.
    @inline(__always)
    private mutating func skipPlainRun() {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let raw = UnsafeRawBufferPointer(self.bytes)
        while self.position &+ 8 <= raw.count {
            let word = UInt64(littleEndian: raw.loadUnaligned(fromByteOffset: self.position, as: UInt64.self))
            let quote = (word ^ (ones &* 0x22)) &- ones
            let backslash = (word ^ (ones &* 0x5c)) &- ones
            let special = (word | (word &- ones &* 0x20) | quote | backslash) & (ones &* 0x80)
            guard special == 0 else {
                self.position &+= special.trailingZeroBitCount >> 3
                return
            }
            self.position &+= 8
        }
        while let byte = self.peek(), byte != 0x22, byte != 0x5c, 0x20..<0x80 ~= byte {
            self.position &+= 1
        }
    }

    /// Steps over `\" \\ \/ \b \f \n \r \t`, or `\u` and four hexadecimal digits.
    ///
    /// Surrogates are not paired here, because the grammar does not ask for it (RFC 8259, section 8.2).
    private mutating func skipEscape() throws(JSONFault) {
        self.position += 1
        switch self.peek() {
        case UInt8(ascii: "u"):
            self.position += 1
            for _ in 0..<4 {
                guard let digit = self.peek(), DeviceToken.nibble(digit) != nil else { throw self.fault(.badEscape) }
                self.position += 1
            }
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            self.position += 1
        default:
            throw self.fault(.badEscape)
        }
    }

    /// Steps over one character of two to four bytes (Unicode 16, table 3-7: no overlong forms, no surrogates, nothing
    /// beyond U+10FFFF).
    private mutating func skipMultibyte() throws(JSONFault) {
        guard let lead = self.peek() else { throw self.fault(.endsEarly) }
        let second: ClosedRange<UInt8>
        let length: Int
        switch lead {
        case 0xc2...0xdf: (second, length) = (0x80...0xbf, 2)
        case 0xe0: (second, length) = (0xa0...0xbf, 3)
        case 0xed: (second, length) = (0x80...0x9f, 3)
        case 0xe1...0xef: (second, length) = (0x80...0xbf, 3)
        case 0xf0: (second, length) = (0x90...0xbf, 4)
        case 0xf1...0xf3: (second, length) = (0x80...0xbf, 4)
        case 0xf4: (second, length) = (0x80...0x8f, 4)
        default: throw self.fault(.badUTF8)
        }
        guard self.bytes.count - self.position >= length else { throw self.fault(.badUTF8) }
        guard second ~= self.bytes[self.position + 1] else { throw self.fault(.badUTF8) }
        for index in 2..<length {
            guard 0x80...0xbf ~= self.bytes[self.position + index] else { throw self.fault(.badUTF8) }
        }
        self.position += length
    }
}
