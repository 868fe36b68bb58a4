/// The identifier of a broadcast channel, as APNs made it: Base64 text whose meaning only APNs knows.
///
/// Keep it as it is. APNs promises no length, and gives an identifier only once, in the answer to its creation. A list of
/// the channels has it, too.
///
/// Source: "Sending channel management requests to APNs" (Apple).
public struct ChannelID: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The limit in bytes. APNs' identifiers in Apple's examples have 24. A request has one in its header, and a list may
    /// have thousands, so the length is bounded.
    public static let maximumLength = 255

    /// The text, as the field `apns-channel-id` carries it.
    public let rawValue: String

    /// - Parameter rawValue: 1 to ``maximumLength`` characters of Base64, in either alphabet. The result is nil for other
    ///   text, which a header could not carry unchanged.
    public init?(rawValue: String) {
        guard Self.isOne(rawValue.utf8) else { return nil }
        self.rawValue = rawValue
    }

    /// Reads the bytes of a header or of a JSON string.
    package init?(_ bytes: some Collection<UInt8>) {
        guard Self.isOne(bytes) else { return nil }
        self.rawValue = String(decoding: bytes, as: UTF8.self)
    }

    /// The text.
    public var description: String { self.rawValue }

    private static func isOne(_ bytes: some Collection<UInt8>) -> Bool {
        1...self.maximumLength ~= bytes.count && bytes.allSatisfy { $0.isBase64 || "-_".utf8.contains($0) }
    }
}
