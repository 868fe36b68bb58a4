extension Reason {
    /// The reason that a status code of the binary protocol stands for.
    ///
    /// Total, and ``binaryStatus`` gives the same number back: a code without a meaning becomes `Status<n>`.
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

    /// The status code of the binary protocol that says most nearly the same. Total: 255 when none does.
    ///
    /// A number alone is not yet an answer to a client. 10 tells it that the notification was *accepted*, and what a
    /// gateway retries by itself is never told at all.
    public var binaryStatus: UInt8 {
        if let status = Self.statuses[self] { return status.rawValue }
        guard self.rawValue.hasPrefix(Self.numberPrefix),
            let status = UInt8(self.rawValue.dropFirst(Self.numberPrefix.count))
        else { return BinaryStatus.unknown.rawValue }
        return status
    }

    private static let numberPrefix = "Status"

    private static let statuses: [Reason: BinaryStatus] = [
        // The same word on both wires, and what only the binary protocol says.
        .noErrorsEncountered: .noErrorsEncountered,
        .processingError: .processingError,
        .missingDeviceToken: .missingDeviceToken,
        .missingTopic: .missingTopic,
        .payloadEmpty: .missingPayload,
        .invalidTokenSize: .invalidTokenSize,
        .invalidTopicSize: .invalidTopicSize,
        .payloadTooLarge: .invalidPayloadSize,
        .badDeviceToken: .invalidToken,
        .shutdown: .shutdown,
        .protocolError: .protocolError,
        .unknown: .unknown,

        // "Invalid token" covers a token of another environment, and so one of another app. A token that was good once
        // was the feedback service's business; of the codes, only 8 makes a client stop using it.
        .unregistered: .invalidToken,
        .expiredToken: .invalidToken,
        .deviceTokenNotForTopic: .invalidToken,

        // A malformed topic is the only thing that 6 can mean. One that the credentials do not cover is, on a wire
        // that takes the topic from the certificate, one that is not there.
        .badTopic: .invalidTopicSize,
        .topicDisallowed: .missingTopic,

        // Nothing is wrong with the notification, and 1 is the code after which clients send it again. Not 10, however
        // near the words are: 10 would say that it was accepted.
        .idleTimeout: .processingError,
        .internalServerError: .processingError,
        .serviceUnavailable: .processingError,
        .tooManyRequests: .processingError,
        .expiredProviderToken: .processingError,
        .tooManyProviderTokenUpdates: .processingError,

        // Sending again does not help, so 1 would make some clients try for ever; and no code speaks of what the binary
        // protocol does not have. Credentials it refused in the handshake, and 128 blames frames that were well formed.
        .badCertificate: .unknown,
        .badCertificateEnvironment: .unknown,
        .badCollapseID: .unknown,
        .badEnvironmentKeyIDInToken: .unknown,
        .badExpirationDate: .unknown,
        .badMessageID: .unknown,
        .badPath: .unknown,
        .badPriority: .unknown,
        .duplicateHeaders: .unknown,
        .forbidden: .unknown,
        .invalidProviderToken: .unknown,
        .invalidPushType: .unknown,
        .methodNotAllowed: .unknown,
        .missingProviderToken: .unknown,
        .unrelatedKeyIDInToken: .unknown,
    ]
}
