package import FerryCore

/// One row of Apple's table of failures for broadcast and channels: the status of a reason, and its meaning there.
///
/// Source: "Handling error responses from Apple Push Notification service" (Apple).
package struct ChannelReasonRule: Hashable, Sendable {
    package var reason: Reason
    /// The status that comes with the reason.
    package var status: HTTPStatus
    /// The meaning for channels, where that of a notification does not fit.
    private var meaning: String?

    private init(_ reason: Reason, _ status: HTTPStatus, _ meaning: String? = nil) {
        self.reason = reason
        self.status = status
        self.meaning = meaning
    }

    /// Returns the row of a reason; nil when it is not in the table.
    package static func of(_ reason: Reason) -> ChannelReasonRule? { self.byReason[reason] }

    /// The meaning of the reason in an answer about channels.
    package var explanation: String? { self.meaning ?? self.reason.explanation }

    private static let byReason = Dictionary(uniqueKeysWithValues: ChannelReasonRule.all.map { ($0.reason, $0) })

    /// The complete table.
    package static let all: [ChannelReasonRule] = [
        ChannelReasonRule(.featureNotEnabled, .badRequest),
        ChannelReasonRule(.missingChannelID, .badRequest),
        ChannelReasonRule(.badChannelID, .badRequest),
        ChannelReasonRule(.channelNotRegistered, .badRequest),
        ChannelReasonRule(.badRequestParams, .badRequest),
        ChannelReasonRule(.badRequestPayload, .badRequest),
        ChannelReasonRule(.payloadEmpty, .badRequest, "The request has no body."),
        ChannelReasonRule(.badMessageID, .badRequest, "The apns-request-id is not a UUID."),
        ChannelReasonRule(.missingPushType, .badRequest),
        ChannelReasonRule(.invalidPushType, .badRequest),
        ChannelReasonRule(.cannotCreateChannelConfig, .badRequest),
        ChannelReasonRule(.badExpirationDate, .badRequest),
        ChannelReasonRule(
            .topicDisallowed,
            .badRequest,
            "The app is not allowed with these credentials, or the bundle ID has the suffix of a topic."
        ),
        ChannelReasonRule(.badPriority, .badRequest, "The priority is invalid."),

        ChannelReasonRule(.badCertificate, .forbidden),
        ChannelReasonRule(.badCertificateEnvironment, .forbidden),
        ChannelReasonRule(.topicMismatch, .forbidden),
        ChannelReasonRule(.missingProviderToken, .forbidden),
        ChannelReasonRule(.expiredProviderToken, .forbidden),
        ChannelReasonRule(.invalidProviderToken, .forbidden),

        ChannelReasonRule(.badPath, .notFound),
        ChannelReasonRule(.methodNotAllowed, .methodNotAllowed, "The request's method is not one of its path."),
        ChannelReasonRule(.payloadTooLarge, .payloadTooLarge, "The request's body is larger than APNs takes."),

        ChannelReasonRule(.tooManyRequests, .tooManyRequests, "Too many requests in a row. Wait before the next."),
        ChannelReasonRule(.tooManyProviderTokenUpdates, .tooManyRequests),

        ChannelReasonRule(.internalServerError, .internalServerError, "APNs failed. Try again later."),
        ChannelReasonRule(.channelServiceUnavailable, .serviceUnavailable),
        ChannelReasonRule(.shutdown, .serviceUnavailable, "The server is shutting down. Try again later."),
    ]
}
