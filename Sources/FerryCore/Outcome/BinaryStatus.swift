/// The status of an error response of the binary protocol, its second byte: the reason why a notification was refused.
///
/// Open: a number that Apple never documented is kept as it came. The number decides which notification the identifier
/// names and which notifications were discarded: see ``shutdown``.
///
/// Source: "Binary Provider API", table A-1 (Apple, 2018), whose wording the descriptions keep.
public struct BinaryStatus: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The byte on the wire.
    public var rawValue: UInt8

    /// Any byte is a status.
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// "No errors encountered". Never seen in practice.
    public static let noErrorsEncountered = BinaryStatus(rawValue: 0)
    /// "Processing error". Not a fault of the notification; some clients send it again.
    public static let processingError = BinaryStatus(rawValue: 1)
    /// "Missing device token".
    public static let missingDeviceToken = BinaryStatus(rawValue: 2)
    /// "Missing topic". The binary protocol takes the topic from the certificate.
    public static let missingTopic = BinaryStatus(rawValue: 3)
    /// "Missing payload".
    public static let missingPayload = BinaryStatus(rawValue: 4)
    /// "Invalid token size".
    public static let invalidTokenSize = BinaryStatus(rawValue: 5)
    /// "Invalid topic size".
    public static let invalidTopicSize = BinaryStatus(rawValue: 6)
    /// "Invalid payload size": beyond 2,048 bytes, 256 before 2014.
    public static let invalidPayloadSize = BinaryStatus(rawValue: 7)
    /// "Invalid token": wrong, or of the other environment.
    public static let invalidToken = BinaryStatus(rawValue: 8)
    /// "Shutdown". This is not a refusal. The identifier names the last notification that was *accepted*. The gateway
    /// discards the notifications after it, as after a refused one.
    public static let shutdown = BinaryStatus(rawValue: 10)
    /// "Protocol error (APNs could not parse the notification)".
    public static let protocolError = BinaryStatus(rawValue: 128)
    /// "None (unknown)".
    public static let unknown = BinaryStatus(rawValue: 255)

    /// Apple's words in lower case; the number for a status that has none.
    public var description: String {
        switch self {
        case .noErrorsEncountered: "no errors encountered"
        case .processingError: "processing error"
        case .missingDeviceToken: "missing device token"
        case .missingTopic: "missing topic"
        case .missingPayload: "missing payload"
        case .invalidTokenSize: "invalid token size"
        case .invalidTopicSize: "invalid topic size"
        case .invalidPayloadSize: "invalid payload size"
        case .invalidToken: "invalid token"
        case .shutdown: "shutdown"
        case .protocolError: "protocol error"
        case .unknown: "none (unknown)"
        default: "status \(self.rawValue)"
        }
    }
}
