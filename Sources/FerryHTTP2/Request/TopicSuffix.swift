/// The suffix that a push type appends to the app's bundle ID to make its topic: `.voip`. Empty if the bundle ID is the
/// topic.
///
/// Its bytes lie within the value, so that a comparison needs no reference counting.
package struct TopicSuffix: Sendable {
    private let bytes: InlineArray<32, UInt8>
    /// 0 to ``maximumLength`` bytes.
    package let count: Int

    /// The limit in bytes. Apple's longest suffix has 23.
    package static let maximumLength = 32

    /// No suffix.
    package static let none = TopicSuffix("" as StaticString)

    /// - Parameter text: empty, or a dot and visible ASCII characters, at most ``maximumLength``; the result is nil for
    ///   other text.
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

    /// Whether `topic` is some text followed by the suffix. Always false for an empty suffix.
    @inline(__always)
    package func ends(_ topic: UnsafeBufferPointer<UInt8>) -> Bool {
        guard self.count > 0, topic.count > self.count else { return false }
        let start = topic.count - self.count
        // The comparison starts at the end, because suffixes begin alike.
        var index = self.count - 1
        while index >= 0 {
            guard topic[start + index] == self.bytes[index] else { return false }
            index -= 1
        }
        return true
    }

    /// Returns the topic of `bundleID` with the suffix. A bundle ID that has the suffix already counts as a whole
    /// topic.
    package func topic(of bundleID: [UInt8]) -> [UInt8] {
        let isWhole = bundleID.withUnsafeBufferPointer { self.ends($0) }
        return isWhole ? bundleID : bundleID + self.array
    }

    private var array: [UInt8] { (0..<self.count).map { self.bytes[$0] } }
}
