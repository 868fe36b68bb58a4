/// What a push type appends to the app's bundle ID to make its topic: `.voip`. Empty where the bundle ID is the topic.
///
/// Its bytes lie within the value, so that comparing costs no reference.
package struct TopicSuffix: Sendable {
    private let bytes: InlineArray<32, UInt8>
    /// 0 to ``maximumLength`` bytes.
    package let count: Int

    /// Apple's longest has 23.
    package static let maximumLength = 32

    /// No suffix.
    package static let none = TopicSuffix("" as StaticString)

    /// - Parameter text: nothing, or a dot and visible ASCII characters, ``maximumLength`` at most; else the result is nil.
    package init?(_ text: String) {
        let utf8 = text.utf8
        guard utf8.isEmpty || utf8.first == UInt8(ascii: ".") && utf8.count > 1,
            utf8.count <= Self.maximumLength, utf8.allSatisfy({ 0x21...0x7e ~= $0 })
        else { return nil }
        self.init(unchecked: utf8)
    }

    init(_ text: StaticString) {
        assert(text.utf8CodeUnitCount <= Self.maximumLength)
        self.init(unchecked: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    private init(unchecked text: some Collection<UInt8>) {
        var bytes = InlineArray<32, UInt8>(repeating: 0)
        var count = 0
        for byte in text.prefix(Self.maximumLength) {
            bytes[count] = byte
            count += 1
        }
        self.bytes = bytes
        self.count = count
    }

    package var isEmpty: Bool { self.count == 0 }

    package var text: String { String(decoding: self.array, as: UTF8.self) }

    /// Whether `topic` is something in front of the suffix, and the suffix. Never, when that is empty.
    @inline(__always)
    package func ends(_ topic: UnsafeBufferPointer<UInt8>) -> Bool {
        guard self.count > 0, topic.count > self.count else { return false }
        let start = topic.count - self.count
        // From the end: suffixes begin alike.
        var index = self.count - 1
        while index >= 0 {
            guard topic[start + index] == self.bytes[index] else { return false }
            index -= 1
        }
        return true
    }

    /// The topic of `bundleID` with the suffix. One that has it already is taken for a whole topic.
    package func topic(of bundleID: [UInt8]) -> [UInt8] {
        let isWhole = bundleID.withUnsafeBufferPointer { self.ends($0) }
        return isWhole ? bundleID : bundleID + self.array
    }

    private var array: [UInt8] { (0..<self.count).map { self.bytes[$0] } }
}
