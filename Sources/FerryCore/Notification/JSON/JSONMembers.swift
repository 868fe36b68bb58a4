/// A walk over the members of one JSON object, in the order of the text. It builds no values.
///
/// A name that occurs twice is returned twice. The walk checks each value in full, so a text that was walked to its end
/// is one JSON object and nothing else. For an object inside, walk ``JSONValue/bytes(in:)``.
///
/// ```
///                 a member                   another member
///   beforeFirst ────────────▶ betweenMembers ◀─────┐
///       │                        │   │             │
///       └──── "}", a fault ──────┤   └─────────────┘
///                                ▼
///                              ended
/// ```
package struct JSONMembers {
    private enum State {
        case beforeFirst
        case betweenMembers
        case ended
    }

    private var scanner: JSONScanner
    private var state = State.beforeFirst

    package init(_ bytes: UnsafeBufferPointer<UInt8>) {
        self.scanner = JSONScanner(bytes)
    }

    /// Returns the next member; nil after the last one, and after an error.
    ///
    /// - Throws: ``JSONFault``. After a fault, the members that were returned before do not belong to a JSON object.
    package mutating func next() throws(JSONFault) -> JSONMember? {
        let state = self.state
        // An error below leaves the walk ended.
        self.state = .ended
        switch state {
        case .ended:
            return nil
        case .beforeFirst:
            self.scanner.skipWhitespace()
            guard self.scanner.skip(UInt8(ascii: "{")) else {
                throw JSONFault(.notAnObject, at: self.scanner.position)
            }
            self.scanner.skipWhitespace()
            if self.scanner.skip(UInt8(ascii: "}")) {
                try self.scanner.expectEnd()
                return nil
            }
        case .betweenMembers:
            self.scanner.skipWhitespace()
            if self.scanner.skip(UInt8(ascii: "}")) {
                try self.scanner.expectEnd()
                return nil
            }
            guard self.scanner.skip(UInt8(ascii: ",")) else { throw self.scanner.fault(.expectedComma) }
            self.scanner.skipWhitespace()
        }
        let key = try self.scanner.skipKey()
        let value = try self.scanner.skipValue()
        self.state = .betweenMembers
        return JSONMember(key: key, value: value)
    }
}

/// One member of a JSON object: the places of its name and its value in the text.
package struct JSONMember: Hashable, Sendable {
    package var key: JSONText
    package var value: JSONValue
}

/// A value in a JSON text that was checked: its kind and its place.
///
/// Its methods take the same text again. Offsets beyond the text trap.
package struct JSONValue: Hashable, Sendable {
    package enum Kind: UInt8, Sendable {
        case string, number, object, array, bool, null
    }

    package var kind: Kind
    /// The place of the value, with the quotes of a string and the brackets of an object.
    package var range: Range<Int>
    /// Whether this is a string without escapes, so that its bytes are its value.
    package var isPlain = false

    package func bytes(in text: UnsafeBufferPointer<UInt8>) -> UnsafeBufferPointer<UInt8> {
        text.checked(self.range)
    }

    /// The contents of a string; nil for every other kind.
    package var text: JSONText? {
        guard self.kind == .string else { return nil }
        return JSONText(range: self.range.lowerBound + 1..<self.range.upperBound - 1, isPlain: self.isPlain)
    }

    /// Returns the value of a whole number that fits; nil for every other kind, and for a number with a fraction or an
    /// exponent.
    package func integer(in text: UnsafeBufferPointer<UInt8>) -> Int64? {
        guard self.kind == .number else { return nil }
        var digits = self.bytes(in: text)[...]
        let isNegative = digits.first == UInt8(ascii: "-")
        if isNegative { digits = digits.dropFirst() }
        var result: Int64 = 0
        for digit in digits {
            guard UInt8(ascii: "0")...UInt8(ascii: "9") ~= digit else { return nil }
            let digit = Int64(digit - UInt8(ascii: "0"))
            let product = result.multipliedReportingOverflow(by: 10)
            // A negative number is built downwards, because Int64.min has no positive counterpart.
            let sum =
                isNegative
                ? product.partialValue.subtractingReportingOverflow(digit)
                : product.partialValue.addingReportingOverflow(digit)
            guard !product.overflow, !sum.overflow else { return nil }
            result = sum.partialValue
        }
        return result
    }

    /// Returns the value of `true` or `false`; nil for every other kind.
    package func bool(in text: UnsafeBufferPointer<UInt8>) -> Bool? {
        self.kind == .bool ? self.range.count == 4 : nil
    }
}

extension UnsafeBufferPointer<UInt8> {
    /// Returns the bytes in `range`. A range beyond the text traps, in release builds too.
    func checked(_ range: Range<Int>) -> UnsafeBufferPointer<UInt8> {
        precondition(range.lowerBound >= 0 && range.upperBound <= self.count, "the range is not of this text")
        return UnsafeBufferPointer(rebasing: self[range])
    }
}
