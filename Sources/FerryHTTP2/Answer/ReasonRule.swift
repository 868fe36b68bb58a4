package import FerryCore

/// One row of Apple's table of error strings: the status of a reason, and the reaction to it.
///
/// The meaning of a reason is its `explanation`.
///
/// Source: "Handling notification responses from APNs" (Apple): the table, and the two paragraphs below it.
package struct ReasonRule: Hashable, Sendable {
    package var reason: Reason
    /// The status that comes with the reason.
    package var status: HTTPStatus
    package var retry: RetryRule
    /// Whether APNs counts the reason against the connection: "APNs disconnects a provider connection with too many
    /// error conditions. APNs disconnects sooner with certain error conditions, such as BadDeviceToken. Note that
    /// status code 410 isn't considered an error condition" (Apple).
    package var countsAgainstConnection: Bool

    private init(_ reason: Reason, _ status: HTTPStatus, _ retry: RetryRule, counts: Bool = false) {
        self.reason = reason
        self.status = status
        self.retry = retry
        self.countsAgainstConnection = counts
    }

    /// Returns the row of a reason; nil when it is not in Apple's table.
    package static func of(_ reason: Reason) -> ReasonRule? { self.byReason[reason] }

    private static let byReason = Dictionary(uniqueKeysWithValues: ReasonRule.all.map { ($0.reason, $0) })

    /// Apple's complete table, in its order.
    package static let all: [ReasonRule] = [
        ReasonRule(.badCollapseID, .badRequest, .afterRepair),
        ReasonRule(.badDeviceToken, .badRequest, .never, counts: true),
        ReasonRule(.badExpirationDate, .badRequest, .afterRepair),
        ReasonRule(.badMessageID, .badRequest, .afterRepair),
        ReasonRule(.badPriority, .badRequest, .afterRepair),
        ReasonRule(.badTopic, .badRequest, .afterRepair),
        ReasonRule(.deviceTokenNotForTopic, .badRequest, .never, counts: true),
        ReasonRule(.duplicateHeaders, .badRequest, .afterRepair),
        // The reason is about the connection: the request came too late on it and was not processed.
        ReasonRule(.idleTimeout, .badRequest, .elsewhere),
        ReasonRule(.invalidPushType, .badRequest, .afterRepair),
        ReasonRule(.missingDeviceToken, .badRequest, .afterRepair),
        ReasonRule(.missingTopic, .badRequest, .afterRepair),
        ReasonRule(.payloadEmpty, .badRequest, .afterRepair),
        ReasonRule(.topicDisallowed, .badRequest, .afterRepair),

        ReasonRule(.badCertificate, .forbidden, .afterRepair, counts: true),
        ReasonRule(.badCertificateEnvironment, .forbidden, .afterRepair, counts: true),
        ReasonRule(.expiredProviderToken, .forbidden, .withNewToken, counts: true),
        ReasonRule(.forbidden, .forbidden, .never, counts: true),
        ReasonRule(.invalidProviderToken, .forbidden, .afterRepair, counts: true),
        ReasonRule(.missingProviderToken, .forbidden, .afterRepair, counts: true),
        ReasonRule(.unrelatedKeyIDInToken, .forbidden, .onNewConnection, counts: true),
        ReasonRule(.badEnvironmentKeyIDInToken, .forbidden, .afterRepair, counts: true),

        ReasonRule(.badPath, .notFound, .afterRepair),
        ReasonRule(.methodNotAllowed, .methodNotAllowed, .afterRepair),

        ReasonRule(.expiredToken, .gone, .never),
        ReasonRule(.unregistered, .gone, .never),

        ReasonRule(.payloadTooLarge, .payloadTooLarge, .never),

        ReasonRule(.tooManyProviderTokenUpdates, .tooManyRequests, .whenThawed),
        ReasonRule(.tooManyRequests, .tooManyRequests, .forDevice),

        ReasonRule(.internalServerError, .internalServerError, .later),
        ReasonRule(.serviceUnavailable, .serviceUnavailable, .later),
        ReasonRule(.shutdown, .serviceUnavailable, .later),
    ]
}
