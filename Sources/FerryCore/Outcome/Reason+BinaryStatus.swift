extension Reason {
    /// Creates the reason for a status code of the binary protocol.
    ///
    /// Every code has a reason: a code without a meaning becomes `Status<n>`. ``binaryStatus`` gives the same number
    /// back.
    public init(binaryStatus status: UInt8) {
        switch BinaryStatus(rawValue: status) {
        case .noErrorsEncountered: self = .noErrorsEncountered
        case .processingError: self = .processingError
        case .missingDeviceToken: self = .missingDeviceToken
        case .missingTopic: self = .missingTopic
        case .missingPayload: self = .payloadEmpty
        case .invalidTokenSize: self = .invalidTokenSize
        case .invalidTopicSize: self = .invalidTopicSize
        case .invalidPayloadSize: self = .payloadTooLarge
        case .invalidToken: self = .badDeviceToken
        case .shutdown: self = .shutdown
        case .protocolError: self = .protocolError
        case .unknown: self = .unknown
        default: self.init(rawValue: "\(Self.numberPrefix)\(status)")
        }
    }

    /// The nearest status code of the binary protocol; 255 if no code is near.
    ///
    /// The number alone is not yet an answer to a client. Status 10 tells the client that the notification was
    /// *accepted*. A refusal that a gateway retries by itself is never reported to the client.
    public var binaryStatus: UInt8 {
        if let row = self.row { return row.binaryStatus.rawValue }
        guard self.rawValue.hasPrefix(Self.numberPrefix),
            let status = UInt8(self.rawValue.dropFirst(Self.numberPrefix.count))
        else { return BinaryStatus.unknown.rawValue }
        return status
    }

    private static let numberPrefix = "Status"
}
