/// The contents of a JSON string, between the quotes: their place in a text that was checked.
///
/// Its methods take the same text again. Offsets beyond the text trap.
package struct JSONText: Hashable, Sendable {
    package var range: Range<Int>
    /// Whether the string has no escapes, so that its bytes are its value.
    package var isPlain: Bool

    /// Returns `text` as a JSON string, with its quotes.
    package static func quoted(_ text: String) -> [UInt8] {
        var json = [UInt8(ascii: "\"")]
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): json += [UInt8(ascii: "\\"), byte]
            case 0..<0x20: json += "\\u00\(byte < 16 ? "0" : "")\(String(byte, radix: 16))".utf8
            default: json.append(byte)
            }
        }
        return json + [UInt8(ascii: "\"")]
    }

    /// Returns the bytes as they stand, with their escapes.
    package func bytes(in text: UnsafeBufferPointer<UInt8>) -> UnsafeBufferPointer<UInt8> {
        text.checked(self.range)
    }

    /// Returns whether the string is `other` after its escapes are resolved: `"tok\u0065n"` is "token".
    ///
    /// Cost: no allocation without an escape.
    package func equals(_ other: StaticString, in text: UnsafeBufferPointer<UInt8>) -> Bool {
        let wanted = UnsafeBufferPointer(start: other.utf8Start, count: other.utf8CodeUnitCount)
        guard self.isPlain else { return (try? self.decoded(in: text)).map { $0.utf8.elementsEqual(wanted) } ?? false }
        return self.range.count == wanted.count && self.bytes(in: text).elementsEqual(wanted)
    }

    /// Returns the string with its escapes resolved.
    ///
    /// - Throws: ``JSONFault`` with ``JSONFault/Reason/loneSurrogate``, at its offset in `text`. The grammar allows
    ///   half a surrogate pair, but a string cannot hold one.
    package func decoded(in text: UnsafeBufferPointer<UInt8>) throws(JSONFault) -> String {
        if self.isPlain { return String(decoding: self.bytes(in: text), as: UTF8.self) }
        return String(decoding: try self.decodedBytes(in: text), as: UTF8.self)
    }

    /// Returns the string in UTF-8 with its escapes resolved.
    ///
    /// - Throws: as ``decoded(in:)``.
    package func decodedBytes(in text: UnsafeBufferPointer<UInt8>) throws(JSONFault) -> [UInt8] {
        var rest = self.bytes(in: text)[...]
        // Every escape is longer than the bytes it stands for, so the capacity suffices.
        var result: [UInt8] = []
        result.reserveCapacity(rest.count)
        while let backslash = rest.firstIndex(of: UInt8(ascii: "\\")) {
            result.append(contentsOf: rest[..<backslash])
            rest = rest[backslash...].dropFirst()
            guard let letter = rest.popFirst() else { break }
            switch letter {
            case UInt8(ascii: "b"): result.append(0x08)
            case UInt8(ascii: "f"): result.append(0x0c)
            case UInt8(ascii: "n"): result.append(0x0a)
            case UInt8(ascii: "r"): result.append(0x0d)
            case UInt8(ascii: "t"): result.append(0x09)
            case UInt8(ascii: "u"):
                guard let scalar = Self.takeScalar(from: &rest) else {
                    throw JSONFault(.loneSurrogate, at: self.range.lowerBound + backslash)
                }
                result.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
            default: result.append(letter)
            }
        }
        result.append(contentsOf: rest)
        return result
    }

    /// Takes the scalar of the four digits at the front of `rest`, and the second half of a surrogate pair, `\uXXXX`,
    /// after it. Nil if the pair is not complete.
    private static func takeScalar(from rest: inout Slice<UnsafeBufferPointer<UInt8>>) -> Unicode.Scalar? {
        guard let unit = self.takeUnit(from: &rest) else { return nil }
        if let scalar = Unicode.Scalar(unit) { return scalar }
        guard 0xd800...0xdbff ~= unit,
            rest.popFirst() == UInt8(ascii: "\\"), rest.popFirst() == UInt8(ascii: "u"),
            let low = self.takeUnit(from: &rest), 0xdc00...0xdfff ~= low
        else { return nil }
        return Unicode.Scalar(0x10000 + (UInt32(unit) - 0xd800) << 10 + (UInt32(low) - 0xdc00))
    }

    private static func takeUnit(from rest: inout Slice<UnsafeBufferPointer<UInt8>>) -> UInt16? {
        var unit: UInt16 = 0
        for _ in 0..<4 {
            guard let digit = rest.popFirst(), let nibble = DeviceToken.nibble(digit) else { return nil }
            unit = unit << 4 | UInt16(nibble)
        }
        return unit
    }
}
