/// Checks JSON without building anything. (RFC 8259)
package enum JSONScanner {
    /// Whether `bytes` are one JSON object and nothing else.
    package static func isObject(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        bytes.first == UInt8(ascii: "{")
    }
}
