/// Why a notification was refused: one vocabulary for both wires, in APNs' own words for HTTP/2.
///
/// Open: a reason that Apple adds later is kept as it came. Status codes of the binary protocol have a word each way,
/// see ``init(binaryStatus:)`` and ``binaryStatus``.
///
/// Source: "Handling notification responses from APNs" (Apple), table of error strings.
public struct Reason: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The string of the key `reason` in the body of an HTTP/2 response.
    public var rawValue: String

    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// The reason in one word; ``explanation`` is the sentence.
    public var description: String { self.rawValue }
}

// MARK: - What is wrong with the notification

extension Reason {
    public static let badCollapseID = Reason(rawValue: "BadCollapseId")
    public static let badDeviceToken = Reason(rawValue: "BadDeviceToken")
    public static let badExpirationDate = Reason(rawValue: "BadExpirationDate")
    public static let badMessageID = Reason(rawValue: "BadMessageId")
    public static let badPriority = Reason(rawValue: "BadPriority")
    public static let badTopic = Reason(rawValue: "BadTopic")
    public static let deviceTokenNotForTopic = Reason(rawValue: "DeviceTokenNotForTopic")
    public static let duplicateHeaders = Reason(rawValue: "DuplicateHeaders")
    public static let invalidPushType = Reason(rawValue: "InvalidPushType")
    public static let missingDeviceToken = Reason(rawValue: "MissingDeviceToken")
    public static let missingTopic = Reason(rawValue: "MissingTopic")
    public static let payloadEmpty = Reason(rawValue: "PayloadEmpty")
    public static let payloadTooLarge = Reason(rawValue: "PayloadTooLarge")
    public static let topicDisallowed = Reason(rawValue: "TopicDisallowed")
    public static let badPath = Reason(rawValue: "BadPath")
    public static let methodNotAllowed = Reason(rawValue: "MethodNotAllowed")
    public static let expiredToken = Reason(rawValue: "ExpiredToken")
    public static let unregistered = Reason(rawValue: "Unregistered")
}

// MARK: - What is wrong with the credentials

extension Reason {
    public static let badCertificate = Reason(rawValue: "BadCertificate")
    public static let badCertificateEnvironment = Reason(rawValue: "BadCertificateEnvironment")
    public static let badEnvironmentKeyIDInToken = Reason(rawValue: "BadEnvironmentKeyIdInToken")
    public static let expiredProviderToken = Reason(rawValue: "ExpiredProviderToken")
    public static let forbidden = Reason(rawValue: "Forbidden")
    public static let invalidProviderToken = Reason(rawValue: "InvalidProviderToken")
    public static let missingProviderToken = Reason(rawValue: "MissingProviderToken")
    public static let tooManyProviderTokenUpdates = Reason(rawValue: "TooManyProviderTokenUpdates")
    public static let unrelatedKeyIDInToken = Reason(rawValue: "UnrelatedKeyIdInToken")
}

// MARK: - What is wrong with the service

extension Reason {
    public static let idleTimeout = Reason(rawValue: "IdleTimeout")
    public static let internalServerError = Reason(rawValue: "InternalServerError")
    public static let serviceUnavailable = Reason(rawValue: "ServiceUnavailable")
    public static let shutdown = Reason(rawValue: "Shutdown")
    public static let tooManyRequests = Reason(rawValue: "TooManyRequests")
}

// MARK: - What only the binary protocol can say

extension Reason {
    /// Status 0.
    public static let noErrorsEncountered = Reason(rawValue: "NoErrorsEncountered")
    /// Status 1.
    public static let processingError = Reason(rawValue: "ProcessingError")
    /// Status 5.
    public static let invalidTokenSize = Reason(rawValue: "InvalidTokenSize")
    /// Status 6.
    public static let invalidTopicSize = Reason(rawValue: "InvalidTopicSize")
    /// Status 128.
    public static let protocolError = Reason(rawValue: "ProtocolError")
    /// Status 255: the peer refused and gave no reason.
    public static let unknown = Reason(rawValue: "Unknown")
}
