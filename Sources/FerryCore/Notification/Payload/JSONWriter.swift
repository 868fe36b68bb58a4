/// A writer of JSON without whitespace. It writes the commas; the caller balances the brackets.
struct JSONWriter {
    private(set) var bytes: [UInt8] = []
    private var needsComma = false

    /// Writes the brackets of an object around what `members` writes.
    mutating func object(_ members: (inout JSONWriter) -> Void) {
        self.begin(UInt8(ascii: "{"))
        members(&self)
        self.end(UInt8(ascii: "}"))
    }

    mutating func member(_ name: String, _ value: (inout JSONWriter) -> Void) {
        self.separate()
        self.bytes.appendJSONString(name)
        self.bytes.append(UInt8(ascii: ":"))
        self.needsComma = false
        value(&self)
        self.needsComma = true
    }

    mutating func member(_ name: String, _ value: String?) {
        guard let value else { return }
        self.member(name) { $0.string(value) }
    }

    mutating func member(_ name: String, _ value: [String]?) {
        guard let value else { return }
        self.member(name) { writer in
            writer.begin(UInt8(ascii: "["))
            for element in value { writer.string(element) }
            writer.end(UInt8(ascii: "]"))
        }
    }

    mutating func member(_ name: String, _ value: (some BinaryInteger)?) {
        guard let value else { return }
        self.member(name) { $0.raw("\(value)".utf8) }
    }

    /// Writes a number. Infinity and NaN become null, because JSON cannot express them.
    mutating func member(_ name: String, _ value: Double?) {
        guard let value else { return }
        self.member(name) { $0.raw((value.isFinite ? "\(value)" : "null").utf8) }
    }

    mutating func member(_ name: String, _ value: JSONFragment?) {
        guard let value else { return }
        self.member(name) { $0.raw(value.bytes) }
    }

    /// Writes members in the order of their names' bytes.
    mutating func members(_ members: [String: JSONFragment]) {
        for (name, value) in members.sorted(by: { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }) {
            self.member(name, value)
        }
    }

    mutating func string(_ value: String) {
        self.separate()
        self.bytes.appendJSONString(value)
    }

    private mutating func raw(_ value: some Sequence<UInt8>) {
        self.separate()
        self.bytes.append(contentsOf: value)
    }

    private mutating func begin(_ bracket: UInt8) {
        self.separate()
        self.bytes.append(bracket)
        self.needsComma = false
    }

    private mutating func end(_ bracket: UInt8) {
        self.bytes.append(bracket)
        self.needsComma = true
    }

    private mutating func separate() {
        if self.needsComma { self.bytes.append(UInt8(ascii: ",")) }
        self.needsComma = true
    }
}

extension [UInt8] {
    /// Appends a JSON string, quotes included.
    package mutating func appendJSONString(_ string: String) {
        self.append(UInt8(ascii: "\""))
        for byte in string.utf8 { self.appendJSONEscaped(byte) }
        self.append(UInt8(ascii: "\""))
    }

    /// Escapes only what must be escaped (RFC 8259, section 7), in the shortest form.
    private mutating func appendJSONEscaped(_ byte: UInt8) {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): self += [UInt8(ascii: "\\"), byte]
        case 0x08: self += [UInt8(ascii: "\\"), UInt8(ascii: "b")]
        case 0x09: self += [UInt8(ascii: "\\"), UInt8(ascii: "t")]
        case 0x0a: self += [UInt8(ascii: "\\"), UInt8(ascii: "n")]
        case 0x0c: self += [UInt8(ascii: "\\"), UInt8(ascii: "f")]
        case 0x0d: self += [UInt8(ascii: "\\"), UInt8(ascii: "r")]
        case 0..<0x20:
            let digits: StaticString = "0123456789abcdef"
            self.append(contentsOf: "\\u00".utf8)
            self.append(digits.utf8Start[Int(byte >> 4)])
            self.append(digits.utf8Start[Int(byte & 15)])
        default: self.append(byte)
        }
    }
}

extension StringProtocol {
    /// The number of bytes of the text in a JSON string, without the quotes.
    var jsonLength: Int {
        self.utf8.reduce(into: 0) { length, byte in
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"), 0x08, 0x09, 0x0a, 0x0c, 0x0d: length += 2
            case 0..<0x20: length += 6
            default: length += 1
            }
        }
    }
}
