/// A checker of JSON (RFC 8259). It reads the text once, allocates nothing and builds no values.
///
/// Strict: exactly the grammar of the RFC, well-formed UTF-8, and no byte order mark. Ferry adds one limit to the
/// grammar: brackets nest at most ``maximumDepth`` deep.
///
/// Every read compares its index with the length first.
package struct JSONScanner {
    /// The number of brackets that may be open at once. Foundation reads no deeper nesting, and so devices do not
    /// either.
    package static let maximumDepth = 512

    let bytes: UnsafeBufferPointer<UInt8>
    /// The offset of the next byte to read.
    package internal(set) var position = 0

    package init(_ bytes: UnsafeBufferPointer<UInt8>) {
        self.bytes = bytes
    }

    /// Returns whether `bytes` are one JSON object and nothing else.
    package static func isObject(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        self.faultInObject(bytes) == nil
    }

    /// Returns the fault that keeps `bytes` from being one JSON object and nothing else; nil if there is no fault.
    package static func faultInObject(_ bytes: UnsafeBufferPointer<UInt8>) -> JSONFault? {
        var scanner = JSONScanner(bytes)
        scanner.skipWhitespace()
        guard scanner.peek() == UInt8(ascii: "{") else { return JSONFault(.notAnObject, at: scanner.position) }
        return scanner.faultInRest()
    }

    /// Returns the fault that keeps `bytes` from being one JSON value of any kind and nothing else; nil if there is no
    /// fault.
    package static func fault(in bytes: UnsafeBufferPointer<UInt8>) -> JSONFault? {
        var scanner = JSONScanner(bytes)
        scanner.skipWhitespace()
        return scanner.faultInRest()
    }

    private mutating func faultInRest() -> JSONFault? {
        do {
            _ = try self.skipValue()
            try self.expectEnd()
            return nil
        } catch {
            return error
        }
    }

    /// Returns the byte at the position; nil at the end.
    @inline(__always)
    package func peek() -> UInt8? {
        self.position < self.bytes.count ? self.bytes[self.position] : nil
    }

    /// Steps over `byte`. If another byte stands there, returns false without a step.
    @inline(__always)
    package mutating func skip(_ byte: UInt8) -> Bool {
        guard self.peek() == byte else { return false }
        self.position += 1
        return true
    }

    @inline(__always)
    package mutating func skipWhitespace() {
        while let byte = self.peek(), byte <= 0x20 {
            guard byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09 else { return }
            self.position += 1
        }
    }

    /// Throws if anything but whitespace follows.
    package mutating func expectEnd() throws(JSONFault) {
        self.skipWhitespace()
        guard self.position == self.bytes.count else { throw self.fault(.trailingBytes) }
    }

    /// Returns `reason` at the position; at the end of the text, ``JSONFault/Reason/endsEarly``.
    package func fault(_ reason: JSONFault.Reason) -> JSONFault {
        JSONFault(self.position < self.bytes.count ? reason : .endsEarly, at: self.position)
    }
}

// MARK: - Values

extension JSONScanner {
    /// Steps over the value that begins at the position.
    ///
    /// Open brackets cost one bit for each level. With recursion, hostile input could exhaust the stack.
    package mutating func skipValue() throws(JSONFault) -> JSONValue {
        let start = self.position
        switch self.peek() {
        case UInt8(ascii: "{"):
            try self.skipNested()
            return JSONValue(kind: .object, range: start..<self.position)
        case UInt8(ascii: "["):
            try self.skipNested()
            return JSONValue(kind: .array, range: start..<self.position)
        default:
            return try self.skipScalar()
        }
    }

    private mutating func skipNested() throws(JSONFault) {
        var nesting = Nesting()
        while true {
            // A value begins here.
            switch self.peek() {
            case UInt8(ascii: "{"):
                guard nesting.open(object: true) else { throw self.fault(.tooDeep) }
                self.position += 1
                self.skipWhitespace()
                if !self.skip(UInt8(ascii: "}")) {
                    _ = try self.skipKey()
                    continue
                }
                nesting.close()
            case UInt8(ascii: "["):
                guard nesting.open(object: false) else { throw self.fault(.tooDeep) }
                self.position += 1
                self.skipWhitespace()
                if !self.skip(UInt8(ascii: "]")) { continue }
                nesting.close()
            default:
                _ = try self.skipScalar()
            }
            // A value has ended here. Close brackets until another value follows.
            while true {
                if nesting.depth == 0 { return }
                self.skipWhitespace()
                if self.skip(UInt8(ascii: ",")) {
                    self.skipWhitespace()
                    if nesting.isObject { _ = try self.skipKey() }
                    break
                }
                guard self.skip(nesting.isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) else {
                    throw self.fault(.expectedComma)
                }
                nesting.close()
            }
        }
    }

    /// Steps over a member name, its colon and the whitespace around it. A value follows.
    @inline(__always)
    package mutating func skipKey() throws(JSONFault) -> JSONText {
        guard self.peek() == UInt8(ascii: "\"") else {
            throw self.fault(self.isTrailingComma ? .trailingComma : .expectedKey)
        }
        let key = try self.skipString()
        self.skipWhitespace()
        guard self.skip(UInt8(ascii: ":")) else { throw self.fault(.expectedColon) }
        self.skipWhitespace()
        return key
    }

    @inline(__always)
    private mutating func skipScalar() throws(JSONFault) -> JSONValue {
        let start = self.position
        guard let first = self.peek() else { throw self.fault(.endsEarly) }
        switch first {
        case UInt8(ascii: "\""):
            let text = try self.skipString()
            return JSONValue(kind: .string, range: start..<self.position, isPlain: text.isPlain)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
            try self.skipNumber()
            return JSONValue(kind: .number, range: start..<self.position)
        case UInt8(ascii: "t"):
            try self.skipLiteral("true")
            return JSONValue(kind: .bool, range: start..<self.position)
        case UInt8(ascii: "f"):
            try self.skipLiteral("false")
            return JSONValue(kind: .bool, range: start..<self.position)
        case UInt8(ascii: "n"):
            try self.skipLiteral("null")
            return JSONValue(kind: .null, range: start..<self.position)
        default:
            throw self.fault(self.isTrailingComma ? .trailingComma : .expectedValue)
        }
    }

    /// Whether a bracket closes at the position, and a comma stands before it.
    private var isTrailingComma: Bool {
        [UInt8(ascii: "}"), UInt8(ascii: "]")].contains(self.peek())
            && self.bytes[..<self.position].last { $0 > 0x20 } == UInt8(ascii: ",")
    }

    private mutating func skipLiteral(_ literal: StaticString) throws(JSONFault) {
        for index in 0..<literal.utf8CodeUnitCount {
            guard self.skip(literal.utf8Start[index]) else { throw self.fault(.badLiteral) }
        }
    }

    /// Steps over `[ minus ] int [ frac ] [ exp ]` (RFC 8259, section 6).
    private mutating func skipNumber() throws(JSONFault) {
        _ = self.skip(UInt8(ascii: "-"))
        if !self.skip(UInt8(ascii: "0")) { try self.skipDigits() }
        if self.skip(UInt8(ascii: ".")) { try self.skipDigits() }
        if self.skip(UInt8(ascii: "e")) || self.skip(UInt8(ascii: "E")) {
            if !self.skip(UInt8(ascii: "+")) { _ = self.skip(UInt8(ascii: "-")) }
            try self.skipDigits()
        }
        // In "01" the number ends after the 0. Without this line, the fault would be about the 1, not about the number.
        if let byte = self.peek(), UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte { throw self.fault(.badNumber) }
    }

    private mutating func skipDigits() throws(JSONFault) {
        let start = self.position
        while let byte = self.peek(), UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte {
            self.position += 1
        }
        guard self.position > start else { throw self.fault(.badNumber) }
    }
}

/// The open brackets: one bit for each level, set for an object.
private struct Nesting {
    private var levels = InlineArray<8, UInt64>(repeating: 0)
    private(set) var depth = 0
    /// Whether the innermost open bracket is an object's.
    private(set) var isObject = false

    /// Opens a bracket; false if no more brackets may open.
    mutating func open(object: Bool) -> Bool {
        guard self.depth < JSONScanner.maximumDepth else { return false }
        let bit: UInt64 = 1 << UInt64(self.depth & 63)
        if object {
            self.levels[self.depth >> 6] |= bit
        } else {
            self.levels[self.depth >> 6] &= ~bit
        }
        self.depth += 1
        self.isObject = object
        return true
    }

    mutating func close() {
        self.depth -= 1
        guard self.depth > 0 else { return }
        let top = self.depth - 1
        self.isObject = self.levels[top >> 6] & 1 << UInt64(top & 63) != 0
    }
}
