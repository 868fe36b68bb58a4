internal import FerryPlatform

/// One JSON value of any kind, as the bytes that are sent.
public struct JSONFragment: Hashable, Sendable {
    /// The value in UTF-8, byte for byte as it was given.
    public let bytes: [UInt8]

    /// - Parameter bytes: one JSON value in UTF-8.
    /// - Throws: ``PushValidationError`` with ``PushValidationError/Code/payloadNotJSON`` when it is anything else.
    public init(json bytes: some Sequence<UInt8>) throws(PushValidationError) {
        let bytes = Array(bytes)
        if let fault = bytes.withUnsafeBufferPointer({ JSONScanner.fault(in: $0) }) {
            throw PushValidationError([.init(.payloadNotJSON, "the value is not JSON: \(fault)")])
        }
        self.bytes = bytes
    }

    /// - Parameter json: the text of one JSON value: `"[1, 2]"`, `"null"`, `"\"text\""`.
    /// - Throws: ``PushValidationError`` with ``PushValidationError/Code/payloadNotJSON`` when it is anything else.
    public init(json: String) throws(PushValidationError) {
        try self.init(json: json.utf8)
    }

    /// Encodes a value. Keys are sorted, so that equal values give equal bytes. Slashes are not escaped. Dates become
    /// seconds since 2001, which is the default of a `JSONDecoder` on the device.
    ///
    /// - Throws: ``PushValidationError`` with ``PushValidationError/Code/encodingFailed`` when `value` cannot be encoded.
    public init(encoding value: some Encodable) throws(PushValidationError) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.withoutEscapingSlashes, .sortedKeys]
        do {
            self.bytes = Array(try encoder.encode(value))
        } catch {
            // The encoder's own error may quote the value.
            throw PushValidationError([.init(.encodingFailed, "\(type(of: value)) cannot be encoded as JSON")])
        }
    }
}
