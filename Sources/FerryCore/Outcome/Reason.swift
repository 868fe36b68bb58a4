/// The reason why a notification was refused: one vocabulary for both protocols, in APNs' own words for HTTP/2.
///
/// Open: a reason that Apple adds later is kept as it came. ``init(binaryStatus:)`` and ``binaryStatus`` convert
/// between reasons and status codes of the binary protocol.
///
/// Source: "Handling notification responses from APNs" (Apple), table of error strings; for broadcast and channels,
/// "Handling error responses from Apple Push Notification service" (Apple).
public struct Reason: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The string of the key `reason` in the body of an HTTP/2 response.
    public var rawValue: String

    /// Any string is a reason.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// The reason in one word. ``explanation`` is a sentence.
    public var description: String { self.rawValue }
}

// MARK: - Faults of the notification

// The meaning of each reason is its `explanation`.

extension Reason {
    /// HTTP 400.
    public static let badCollapseID = Reason(rawValue: "BadCollapseId")
    /// HTTP 400.
    public static let badDeviceToken = Reason(rawValue: "BadDeviceToken")
    /// HTTP 400.
    public static let badExpirationDate = Reason(rawValue: "BadExpirationDate")
    /// HTTP 400.
    public static let badMessageID = Reason(rawValue: "BadMessageId")
    /// HTTP 400.
    public static let badPriority = Reason(rawValue: "BadPriority")
    /// HTTP 400.
    public static let badTopic = Reason(rawValue: "BadTopic")
    /// HTTP 400.
    public static let deviceTokenNotForTopic = Reason(rawValue: "DeviceTokenNotForTopic")
    /// HTTP 400.
    public static let duplicateHeaders = Reason(rawValue: "DuplicateHeaders")
    /// HTTP 400.
    public static let invalidPushType = Reason(rawValue: "InvalidPushType")
    /// HTTP 400.
    public static let missingDeviceToken = Reason(rawValue: "MissingDeviceToken")
    /// HTTP 400.
    public static let missingTopic = Reason(rawValue: "MissingTopic")
    /// HTTP 400.
    public static let payloadEmpty = Reason(rawValue: "PayloadEmpty")
    /// HTTP 413.
    public static let payloadTooLarge = Reason(rawValue: "PayloadTooLarge")
    /// HTTP 400.
    public static let topicDisallowed = Reason(rawValue: "TopicDisallowed")
    /// HTTP 404.
    public static let badPath = Reason(rawValue: "BadPath")
    /// HTTP 405.
    public static let methodNotAllowed = Reason(rawValue: "MethodNotAllowed")
    /// HTTP 410.
    public static let expiredToken = Reason(rawValue: "ExpiredToken")
    /// HTTP 410.
    public static let unregistered = Reason(rawValue: "Unregistered")
}

// MARK: - Faults of the credentials

extension Reason {
    /// HTTP 403.
    public static let badCertificate = Reason(rawValue: "BadCertificate")
    /// HTTP 403.
    public static let badCertificateEnvironment = Reason(rawValue: "BadCertificateEnvironment")
    /// HTTP 403.
    public static let badEnvironmentKeyIDInToken = Reason(rawValue: "BadEnvironmentKeyIdInToken")
    /// HTTP 403.
    public static let expiredProviderToken = Reason(rawValue: "ExpiredProviderToken")
    /// HTTP 403.
    public static let forbidden = Reason(rawValue: "Forbidden")
    /// HTTP 403.
    public static let invalidProviderToken = Reason(rawValue: "InvalidProviderToken")
    /// HTTP 403.
    public static let missingProviderToken = Reason(rawValue: "MissingProviderToken")
    /// HTTP 429.
    public static let tooManyProviderTokenUpdates = Reason(rawValue: "TooManyProviderTokenUpdates")
    /// HTTP 403.
    public static let unrelatedKeyIDInToken = Reason(rawValue: "UnrelatedKeyIdInToken")
}

// MARK: - Faults of the service

extension Reason {
    /// HTTP 400.
    public static let idleTimeout = Reason(rawValue: "IdleTimeout")
    /// HTTP 500.
    public static let internalServerError = Reason(rawValue: "InternalServerError")
    /// HTTP 503.
    public static let serviceUnavailable = Reason(rawValue: "ServiceUnavailable")
    /// HTTP 503.
    public static let shutdown = Reason(rawValue: "Shutdown")
    /// HTTP 429.
    public static let tooManyRequests = Reason(rawValue: "TooManyRequests")
}

// MARK: - Reasons of broadcast and channels alone

// Source: "Handling error responses from Apple Push Notification service" (Apple).

extension Reason {
    /// HTTP 400.
    public static let badChannelID = Reason(rawValue: "BadChannelId")
    /// HTTP 400.
    public static let badRequestParams = Reason(rawValue: "BadRequestParams")
    /// HTTP 400.
    public static let badRequestPayload = Reason(rawValue: "BadRequestPayload")
    /// HTTP 400.
    public static let cannotCreateChannelConfig = Reason(rawValue: "CannotCreateChannelConfig")
    /// HTTP 400.
    public static let channelNotRegistered = Reason(rawValue: "ChannelNotRegistered")
    /// HTTP 400.
    public static let featureNotEnabled = Reason(rawValue: "FeatureNotEnabled")
    /// HTTP 400.
    public static let missingChannelID = Reason(rawValue: "MissingChannelId")
    /// HTTP 400.
    public static let missingPushType = Reason(rawValue: "MissingPushType")
    /// HTTP 403.
    public static let topicMismatch = Reason(rawValue: "TopicMismatch")
    /// HTTP 503. Apple writes it with a space here, and without one for notifications: ``serviceUnavailable``.
    public static let channelServiceUnavailable = Reason(rawValue: "Service Unavailable")
}

// MARK: - Reasons of the binary protocol alone

extension Reason {
    /// Binary status 0.
    public static let noErrorsEncountered = Reason(rawValue: "NoErrorsEncountered")
    /// Binary status 1.
    public static let processingError = Reason(rawValue: "ProcessingError")
    /// Binary status 5.
    public static let invalidTokenSize = Reason(rawValue: "InvalidTokenSize")
    /// Binary status 6.
    public static let invalidTopicSize = Reason(rawValue: "InvalidTopicSize")
    /// Binary status 128.
    public static let protocolError = Reason(rawValue: "ProtocolError")
    /// Binary status 255: the peer refused and gave no reason.
    public static let unknown = Reason(rawValue: "Unknown")
}
