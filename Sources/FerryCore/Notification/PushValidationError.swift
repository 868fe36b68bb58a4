/// The faults of a notification or a device token: every fault, not only the first.
public struct PushValidationError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The faults, in the order in which they were found; never empty.
    public var faults: [Fault]

    /// - Parameter faults: at least one.
    public init(_ faults: [Fault]) {
        self.faults = faults
    }

    /// One sentence with every fault. Contains no token and no payload.
    public var description: String {
        self.faults.map(\.message).joined(separator: "; ")
    }

    /// One fault.
    public struct Fault: Hashable, Sendable {
        /// The kind of the fault.
        public var code: Code
        /// The fault in words, with the limit that was passed.
        public var message: String

        /// - Parameters:
        ///   - code: the kind of the fault.
        ///   - message: part of a sentence, without a token or payload.
        public init(_ code: Code, _ message: String) {
            self.code = code
            self.message = message
        }
    }

    /// The kind of a fault. Open: later versions may add codes.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Kind: String {
            case emptyToken, tokenTooLong, oddHex, notHex
            case emptyPayload, payloadTooLarge, payloadNotJSON
            case badPayloadField, conflictingPayloadFields, encodingFailed
            case badTopic, badCollapseID, badAPNSID, badExpiration, badPriority, badPushType
            case batchFull
        }

        private var kind: Kind

        private init(_ kind: Kind) { self.kind = kind }

        /// The device token has no bytes.
        public static let emptyToken = Code(.emptyToken)
        /// The device token has more than ``DeviceToken/maximumLength`` bytes.
        public static let tokenTooLong = Code(.tokenTooLong)
        /// The device token has an odd number of hexadecimal digits.
        public static let oddHex = Code(.oddHex)
        /// The device token holds something that is not a hexadecimal digit.
        public static let notHex = Code(.notHex)
        /// The payload has no bytes.
        public static let emptyPayload = Code(.emptyPayload)
        /// The payload has more than ``PushNotification/maximumPayloadLength`` bytes.
        public static let payloadTooLarge = Code(.payloadTooLarge)
        /// The payload is not a JSON object, or a part of it is not JSON. The message has the place.
        public static let payloadNotJSON = Code(.payloadNotJSON)
        /// A field of a ``Payload`` is out of its range.
        public static let badPayloadField = Code(.badPayloadField)
        /// Two fields of a ``Payload`` exclude each other.
        public static let conflictingPayloadFields = Code(.conflictingPayloadFields)
        /// A value cannot be encoded as JSON.
        public static let encodingFailed = Code(.encodingFailed)
        /// The topic is empty, longer than ``PushNotification/maximumTopicLength``, or not visible ASCII.
        public static let badTopic = Code(.badTopic)
        /// The collapse id is empty, longer than ``PushNotification/maximumCollapseIDLength``, or not printable.
        public static let badCollapseID = Code(.badCollapseID)
        /// The apns-id is not a UUID.
        public static let badAPNSID = Code(.badAPNSID)
        /// The expiration does not fit into 32 bits.
        public static let badExpiration = Code(.badExpiration)
        /// The priority does not exist. Only for text, as the command line and the C interface read it.
        public static let badPriority = Code(.badPriority)
        /// The push type does not exist. Only for text, as the command line and the C interface read it.
        public static let badPushType = Code(.badPushType)
        /// The batch has no room for another notification.
        public static let batchFull = Code(.batchFull)

        /// The code's name.
        public var description: String { self.kind.rawValue }
    }
}
