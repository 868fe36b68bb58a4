extension UnsafeBufferPointer<UInt8> {
    /// Returns whether the bytes are those of `text`.
    @inline(__always)
    package func equals(_ text: StaticString) -> Bool {
        guard self.count == text.utf8CodeUnitCount else { return false }
        for index in 0..<self.count where self[index] != text.utf8Start[index] { return false }
        return true
    }
}
