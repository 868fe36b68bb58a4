internal import FerryCore

/// A reader of DER for certificate extensions: one element after the other, definite lengths only.
struct DERReader {
    struct Element {
        var tag: UInt8
        var contents: ArraySlice<UInt8>

        var isSequence: Bool { self.tag == 0x30 }

        /// The text of a UTF8String, PrintableString or IA5String, printable.
        var text: String? {
            [0x0C, 0x13, 0x16].contains(self.tag) ? String(validating: self.contents, as: UTF8.self)?.printable : nil
        }
    }

    private var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) {
        self.rest = bytes
    }

    /// Returns the next element; nil at the end, and if the bytes are not DER.
    mutating func next() -> Element? {
        var cursor = self.rest
        guard let tag = cursor.popFirst(), tag & 0x1F != 0x1F, let first = cursor.popFirst() else { return nil }
        var length = Int(first)
        if first >= 0x80 {
            // No certificate needs more than four bytes of length.
            guard (0x81...0x84).contains(first) else { return nil }
            length = 0
            for _ in 0..<(first & 0x7F) {
                guard let byte = cursor.popFirst() else { return nil }
                length = length << 8 | Int(byte)
            }
        }
        guard length <= cursor.count else { return nil }
        self.rest = cursor.dropFirst(length)
        return Element(tag: tag, contents: cursor.prefix(length))
    }

    /// Returns the elements of the sequence in `bytes`; an empty array if there is no sequence.
    static func elements(ofSequence bytes: [UInt8]) -> [Element] {
        var outer = DERReader(bytes[...])
        guard let sequence = outer.next(), sequence.isSequence else { return [] }
        return self.elements(sequence.contents)
    }

    static func elements(_ bytes: ArraySlice<UInt8>) -> [Element] {
        var reader = DERReader(bytes)
        var elements: [Element] = []
        while let element = reader.next() { elements.append(element) }
        return elements
    }
}
