package import FerryCore
/// A decoded notification: its numbers, and the positions of its token and payload.
package struct NotificationFrame: Hashable, Sendable {
    package var command: Command
    /// The identifier; nil with ``Command/simple``, and in a frame without that item.
    package var identifier: UInt32?
    /// The expiration in UNIX seconds; nil with ``Command/simple``, and in a frame without that item.
    package var expiration: UInt32?
    /// The priority as it arrived. Only ``Command/frame`` can have one.
    package var priority: UInt8?
    /// The position of the device token in the decoded bytes: 1 to 100 bytes.
    package var token: Range<Int>
    /// The position of the payload in the decoded bytes: at least one byte.
    package var payload: Range<Int>
    /// The length of the notification, command byte included.
    package var length: Int
    /// Whether the identifier is the first item of a ``Command/frame``.
    package var beginsWithIdentifier = false
}

/// A whole notification with a fault, so that a gateway cannot take it.
package struct NotificationRefusal: Hashable, Sendable {
    package var command: Command
    package var status: BinaryStatus
    /// The notification's identifier, if it was given in a trustworthy form.
    package var identifier: UInt32?
    package var fault: Fault
    /// The length of the notification, command byte included. The next notification begins after it.
    package var length: Int

    /// The fault of a notification.
    package enum Fault: Hashable, Sendable {
        case missingToken
        case missingPayload
        case tokenTooLong(Int)
        case payloadTooLong(Int)
        case duplicateItem(UInt8)
        /// The declared length of an item that has a fixed size is wrong.
        case itemSize(UInt8, Int)
        /// An item, or its header, extends beyond the end of the frame.
        case itemOverrun

        package var status: BinaryStatus {
            switch self {
            case .missingToken: .missingDeviceToken
            case .missingPayload: .missingPayload
            case .tokenTooLong: .invalidTokenSize
            case .payloadTooLong: .invalidPayloadSize
            case .duplicateItem, .itemSize, .itemOverrun: .protocolError
            }
        }
    }
}

/// Bytes that are not a notification. The start of the next notification is unknown, so a gateway just closes.
package enum NotificationViolation: Hashable, Sendable {
    case unknownCommand(UInt8)
    /// The declared length exceeds the cap.
    case frameTooLong(Int)
}
