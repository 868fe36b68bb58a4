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
        if let status = Self.statuses[self] { return status.rawValue }
        guard self.rawValue.hasPrefix(Self.numberPrefix),
            let status = UInt8(self.rawValue.dropFirst(Self.numberPrefix.count))
        else { return BinaryStatus.unknown.rawValue }
        return status
    }

    private static let numberPrefix = "Status"

    private static let statuses: [Reason: BinaryStatus] = [
        // Reasons that both protocols have, and reasons that only the binary protocol has.
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

        // "Invalid token" covers a token of another environment, and so a token of another app. The feedback service
        // reported tokens that were no longer valid. Of the codes, only 8 makes a client stop using a token.
        .unregistered: .invalidToken,
        .expiredToken: .invalidToken,
        .deviceTokenNotForTopic: .invalidToken,

        // Status 6 can only mean a malformed topic. The binary protocol takes the topic from the certificate: a topic
        // that the credentials do not cover is missing there.
        .badTopic: .invalidTopicSize,
        .topicDisallowed: .missingTopic,

        // Nothing is wrong with the notification, and clients send it again after status 1. Status 10 sounds nearer,
        // but would say that the notification was accepted.
        .idleTimeout: .processingError,
        .internalServerError: .processingError,
        .serviceUnavailable: .processingError,
        .tooManyRequests: .processingError,
        .expiredProviderToken: .processingError,
        .tooManyProviderTokenUpdates: .processingError,
        .channelServiceUnavailable: .processingError,

        // Sending again does not help, and some clients would try for ever after status 1. No code is about fields that
        // the binary protocol does not have. The binary protocol refused bad credentials in the handshake. Status 128
        // blames frames, and these were well formed.
        .badCertificate: .unknown,
        .badCertificateEnvironment: .unknown,
        .badChannelID: .unknown,
        .badCollapseID: .unknown,
        .badEnvironmentKeyIDInToken: .unknown,
        .badExpirationDate: .unknown,
        .badMessageID: .unknown,
        .badPath: .unknown,
        .badPriority: .unknown,
        .badRequestParams: .unknown,
        .badRequestPayload: .unknown,
        .cannotCreateChannelConfig: .unknown,
        .channelNotRegistered: .unknown,
        .duplicateHeaders: .unknown,
        .featureNotEnabled: .unknown,
        .forbidden: .unknown,
        .invalidProviderToken: .unknown,
        .invalidPushType: .unknown,
        .methodNotAllowed: .unknown,
        .missingChannelID: .unknown,
        .missingProviderToken: .unknown,
        .missingPushType: .unknown,
        .topicMismatch: .unknown,
        .unrelatedKeyIDInToken: .unknown,
    ]
}
