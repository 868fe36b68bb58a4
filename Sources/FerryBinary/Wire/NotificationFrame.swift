package import FerryCore
/// A notification as it stands on the wire: what it says, and where its token and payload lie.
package struct NotificationFrame: Hashable, Sendable {
    package var command: Command
    /// Absent with ``Command/simple``, and wherever the item is.
    package var identifier: UInt32?
    /// UNIX seconds. Absent with ``Command/simple``, and wherever the item is.
    package var expiration: UInt32?
    /// The number as it came. Only ``Command/frame`` can have one.
    package var priority: UInt8?
    /// Where the device token lies in the bytes that were decoded: 1 to 100 bytes.
    package var token: Range<Int>
    /// Where the payload lies in the bytes that were decoded: at least one byte.
    package var payload: Range<Int>
    /// The length of the notification, command byte included.
    package var length: Int
}

/// A notification that was read whole and is not one that a gateway can take.
package struct NotificationRefusal: Hashable, Sendable {
    package var command: Command
    package var status: BinaryStatus
    /// The notification's identifier, if it was said in a way that can be trusted.
    package var identifier: UInt32?
    package var fault: Fault
    /// The length of the notification, command byte included: what follows it can still be read.
    package var length: Int

    /// What is wrong.
    package enum Fault: Hashable, Sendable {
        case missingToken
        case missingPayload
        case tokenTooLong(Int)
        case payloadTooLong(Int)
        case duplicateItem(UInt8)
        /// An item of fixed size has another one.
        case itemSize(UInt8, Int)
        /// The declared length of an item, or its header, runs over the end of the frame.
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

/// Bytes that are no notification. Where the next one would begin is not known: a gateway just closes.
package enum NotificationViolation: Hashable, Sendable {
    case unknownCommand(UInt8)
    /// The declared length passes the cap.
    case frameTooLong(Int)
}
