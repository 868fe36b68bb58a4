extension Reason {
    /// The meaning of the reason and the remedy, in one or two sentences; nil for a reason that Ferry does not know.
    ///
    /// Source: Apple's table of error strings, and the status codes of the "Binary Provider API".
    public var explanation: String? { Self.explanations[self] }

    private static let explanations: [Reason: String] = [
        .badCollapseID: "The collapse id is longer than 64 bytes.",
        .badDeviceToken: "The device token is invalid, or belongs to the other environment. Forget it if other device "
            + "tokens were accepted. If none was, check whether it is for production or for development.",
        .badExpirationDate: "The expiration is invalid.",
        .badMessageID: "The apns-id is not a UUID.",
        .badPriority: "The priority is invalid, or does not suit the push type: background needs 5.",
        .badTopic:
            "The topic is invalid, or does not suit the push type: most types want the bundle ID and a suffix, such "
            + "as .voip.",
        .deviceTokenNotForTopic: "The device token belongs to another app. Do not send to it with this topic again.",
        .duplicateHeaders: "A header was repeated.",
        .invalidPushType: "The push type is invalid.",
        .missingDeviceToken: "No device token was given.",
        .missingTopic: "No topic was given, and the credentials are good for more than one. Set the topic of the "
            + "notification or of the configuration.",
        .payloadEmpty: "The payload is empty.",
        .payloadTooLarge:
            "The payload is larger than APNs takes: \(PayloadLimit.http2) bytes, or \(PayloadLimit.voip) with "
            + "push type voip and to a channel. Do not repeat it as it is.",
        .topicDisallowed: "Pushing to this topic is not allowed with these credentials.",
        .badPath: "The request's path is invalid.",
        .methodNotAllowed: "The request's method is not POST.",
        .expiredToken: "The device token has expired. Do not send to it again.",
        .unregistered: "The device token is no longer active for the topic: most often the app was removed. "
            + "Do not send to it again unless the app registers it anew.",

        .badCertificate: "The client certificate is invalid.",
        .badCertificateEnvironment: "The client certificate belongs to the other environment.",
        .badEnvironmentKeyIDInToken: "The key of the provider token belongs to the other environment.",
        .expiredProviderToken: "The provider token is older than an hour. Make a new one.",
        .forbidden: "The credentials do not allow this. Do not repeat it.",
        .invalidProviderToken: "The provider token is invalid, or its signature is: check key, key ID and team ID, and "
            + "the clock of the machine that made it.",
        .missingProviderToken: "The connection has no client certificate, and the request no provider token.",
        .tooManyProviderTokenUpdates: "The provider token changes more often than every 20 minutes.",
        .unrelatedKeyIDInToken: "The provider token's key is not the one this connection began with. "
            + "Open another connection for it.",

        .idleTimeout: "The connection was idle for too long.",
        .internalServerError: "APNs failed. Try again after 15 minutes.",
        .serviceUnavailable: "APNs is unavailable. Try again after 15 minutes.",
        .shutdown: "The server is shutting down. Use another connection.",
        .tooManyRequests: "Too many notifications to the same device token in a row. Wait before the next.",

        .badChannelID: "The channel id is malformed.",
        .badRequestParams: "A parameter of the request is invalid.",
        .badRequestPayload: "The request's body is not the JSON that APNs wants.",
        .cannotCreateChannelConfig: "The channel cannot be made: an app has at most 10,000 in each environment. Delete "
            + "channels that are no longer used.",
        .channelNotRegistered: "There is no such channel: it was deleted, its id is not complete or has a typo, or it "
            + "belongs to another app or to the other environment.",
        .featureNotEnabled: "Broadcast is not switched on for the app. Switch it on in the developer account.",
        .missingChannelID: "No channel id was given.",
        .missingPushType: "No push type was given.",
        .topicMismatch: "The client certificate is not for this app.",
        .channelServiceUnavailable: "APNs is unavailable. Try again later.",

        .noErrorsEncountered: "No error was met.",
        .processingError: "The gateway failed to process the notification.",
        .invalidTokenSize: "The device token has a length that the gateway does not take.",
        .invalidTopicSize: "The topic has a length that the gateway does not take.",
        .protocolError: "The gateway could not parse the notification.",
        .unknown: "The peer gave no reason.",
    ]
}
