package import FerryCore

/// One row of Apple's table of failures for broadcast and channels: a reason, and its meaning there.
///
/// Source: "Handling error responses from Apple Push Notification service" (Apple).
package struct ChannelReasonRule: Hashable, Sendable {
    package var reason: Reason
    /// The meaning for channels, where that of a notification does not fit.
    private var meaning: String?

    private init(_ reason: Reason, _ meaning: String? = nil) {
        self.reason = reason
        self.meaning = meaning
    }

    /// Returns the row of a reason; nil when it is not in the table.
    package static func of(_ reason: Reason) -> ChannelReasonRule? { self.byReason[reason] }

    /// The status that comes with the reason.
    package var status: HTTPStatus {
        self.reason.row?.httpStatus.map { HTTPStatus(rawValue: $0) } ?? .badRequest
    }

    /// The meaning of the reason in an answer about channels.
    package var explanation: String? { self.meaning ?? self.reason.explanation }

    private static let byReason = Dictionary(uniqueKeysWithValues: ChannelReasonRule.all.map { ($0.reason, $0) })

    /// The complete table.
    package static let all: [ChannelReasonRule] = [
        ChannelReasonRule(.featureNotEnabled),
        ChannelReasonRule(.missingChannelID),
        ChannelReasonRule(.badChannelID),
        ChannelReasonRule(.channelNotRegistered),
        ChannelReasonRule(.badRequestParams),
        ChannelReasonRule(.badRequestPayload),
        ChannelReasonRule(.payloadEmpty, "The request has no body."),
        ChannelReasonRule(.badMessageID, "The apns-request-id is not a UUID."),
        ChannelReasonRule(.missingPushType),
        ChannelReasonRule(.invalidPushType),
        ChannelReasonRule(.cannotCreateChannelConfig),
        ChannelReasonRule(.badExpirationDate),
        ChannelReasonRule(
            .topicDisallowed,
            "The app is not allowed with these credentials, or the bundle ID has the suffix of a topic."
        ),
        ChannelReasonRule(.badPriority, "The priority is invalid."),

        ChannelReasonRule(.badCertificate),
        ChannelReasonRule(.badCertificateEnvironment),
        ChannelReasonRule(.topicMismatch),
        ChannelReasonRule(.missingProviderToken),
        ChannelReasonRule(.expiredProviderToken),
        ChannelReasonRule(.invalidProviderToken),

        ChannelReasonRule(.badPath),
        ChannelReasonRule(.methodNotAllowed, "The request's method is not one of its path."),
        ChannelReasonRule(.payloadTooLarge, "The request's body is larger than APNs takes."),

        ChannelReasonRule(.tooManyRequests, "Too many requests in a row. Wait before the next."),
        ChannelReasonRule(.tooManyProviderTokenUpdates),

        ChannelReasonRule(.internalServerError, "APNs failed. Try again later."),
        ChannelReasonRule(.channelServiceUnavailable),
        ChannelReasonRule(.shutdown, "The server is shutting down. Try again later."),
    ]
}
