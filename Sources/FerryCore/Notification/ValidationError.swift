/// What is wrong with a notification or a device token, whole: every fault, not only the first.
public struct ValidationError: Error, Hashable, Sendable, CustomStringConvertible {
    public var faults: [Fault]

    public init(_ faults: [Fault]) {
        self.faults = faults
    }

    /// One sentence with every fault. Holds no token and no payload.
    public var description: String {
        self.faults.map(\.message).joined(separator: "; ")
    }

    /// One thing that is wrong.
    public struct Fault: Hashable, Sendable {
        public var code: Code
        /// What is wrong, with the limit that was passed.
        public var message: String

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
            case badTopic, badCollapseID, badAPNSID, badExpiration, badPriority, badPushType
            case batchFull
        }

        private var kind: Kind

        private init(_ kind: Kind) { self.kind = kind }

        public static let emptyToken = Code(.emptyToken)
        public static let tokenTooLong = Code(.tokenTooLong)
        public static let oddHex = Code(.oddHex)
        public static let notHex = Code(.notHex)
        public static let emptyPayload = Code(.emptyPayload)
        public static let payloadTooLarge = Code(.payloadTooLarge)
        public static let payloadNotJSON = Code(.payloadNotJSON)
        public static let badTopic = Code(.badTopic)
        public static let badCollapseID = Code(.badCollapseID)
        public static let badAPNSID = Code(.badAPNSID)
        public static let badExpiration = Code(.badExpiration)
        public static let badPriority = Code(.badPriority)
        public static let badPushType = Code(.badPushType)
        public static let batchFull = Code(.batchFull)

        public var description: String { self.kind.rawValue }
    }
}
