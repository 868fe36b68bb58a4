/// Why a gateway refuses a notification, or that it shuts down: the second byte of an ``ErrorResponse``.
///
/// Open: a value that Apple never documented is kept as it came.
package struct BinaryStatus: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    package var rawValue: UInt8

    package init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// Never sent in practice. Names a notification that was accepted; the connection stays open.
    package static let noErrors = BinaryStatus(rawValue: 0)
    package static let processingError = BinaryStatus(rawValue: 1)
    package static let missingDeviceToken = BinaryStatus(rawValue: 2)
    package static let missingTopic = BinaryStatus(rawValue: 3)
    package static let missingPayload = BinaryStatus(rawValue: 4)
    package static let invalidTokenSize = BinaryStatus(rawValue: 5)
    package static let invalidTopicSize = BinaryStatus(rawValue: 6)
    package static let invalidPayloadSize = BinaryStatus(rawValue: 7)
    /// The token is wrong, or of the other environment.
    package static let invalidToken = BinaryStatus(rawValue: 8)
    /// Maintenance. Names the last notification that was accepted.
    package static let shutdown = BinaryStatus(rawValue: 10)
    package static let protocolError = BinaryStatus(rawValue: 128)
    package static let unknown = BinaryStatus(rawValue: 255)

    /// Whether the notification that a response with this status names was itself accepted.
    package var namesAccepted: Bool { self == .noErrors || self == .shutdown }

    package var description: String { "status \(self.rawValue)" }
}
