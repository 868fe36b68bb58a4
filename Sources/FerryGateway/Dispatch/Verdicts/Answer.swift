package import FerryCore

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// The gateway's reaction to an outcome of its upstream.
///
/// Old clients know nine status codes, and react differently to each. Some codes make a client give up or try for ever.
/// Such a code is never sent for a fault that is not the client's.
package enum Answer: Hashable, Sendable {
    /// The client gets no response, so it counts the notification as accepted.
    case accepted
    /// The client counts the notification as accepted, as with Apple's gateway. The feedback list gets the token, with
    /// APNs' time in UNIX seconds.
    case gone(since: UInt32?)
    /// An error response may name the notification.
    case refused(BinaryStatus)
    /// The token belongs to another topic of the identity, or it is refused with status 8.
    case tryOtherTopic
    /// The notification is sent again after this time, with the same `apns-id`.
    case retry(Retry)
    /// The topic or the credentials are at fault, so every other notification would fail too. Keep this one, and raise
    /// the alarm.
    case blocked
    /// The gateway made a wrong request. Keep the notification in the list of dead letters, and raise the alarm.
    case deadLetter
    /// The notification expired before it was sent.
    case expired
    /// The notification may have arrived. The configuration decides whether it is sent again.
    case unknown

    /// How soon a notification is sent again.
    package enum Retry: Hashable, Sendable {
        /// After the back-off.
        case later
        /// The device gets too many notifications. This one waits longer, and others do not wait for it.
        case deviceIsBusy
    }

    package init(to outcome: Outcome) {
        switch outcome {
        case .accepted: self = .accepted
        case .rejected(let rejection): self.init(to: rejection)
        case .expired: self = .expired
        case .undelivered(.credentials): self = .blocked
        case .undelivered: self = .retry(.later)
        case .uncertain: self = .unknown
        @unknown default: self = .unknown
        }
    }

    private init(to rejection: Rejection) {
        if let answer = Self.answers[rejection.reason] {
            self = answer
        } else if rejection.reason == .unregistered || rejection.reason == .expiredToken {
            self = .gone(since: rejection.timestamp.map { UInt32(clamping: Int64($0.timeIntervalSince1970)) })
        } else {
            // Ferry does not know the reason. A fault of the server may pass, so the notification is sent again. A
            // fault of the request does not pass.
            self = (rejection.status ?? 500) >= 500 ? .retry(.later) : .deadLetter
        }
    }

    private static let answers: [Reason: Answer] = [
        .badDeviceToken: .refused(.invalidToken),
        .deviceTokenNotForTopic: .tryOtherTopic,
        .missingDeviceToken: .refused(.missingDeviceToken),
        .payloadEmpty: .refused(.missingPayload),
        .payloadTooLarge: .refused(.invalidPayloadSize),
        .invalidTokenSize: .refused(.invalidTokenSize),

        .missingTopic: .blocked,
        .badTopic: .blocked,
        .topicDisallowed: .blocked,
        .invalidTopicSize: .blocked,
        .badCertificate: .blocked,
        .badCertificateEnvironment: .blocked,
        .badEnvironmentKeyIDInToken: .blocked,
        .forbidden: .blocked,
        .invalidProviderToken: .blocked,
        .missingProviderToken: .blocked,
        .unrelatedKeyIDInToken: .blocked,

        .badPriority: .deadLetter,
        .badExpirationDate: .deadLetter,
        .badCollapseID: .deadLetter,
        .badMessageID: .deadLetter,
        .invalidPushType: .deadLetter,
        .duplicateHeaders: .deadLetter,
        .badPath: .deadLetter,
        .methodNotAllowed: .deadLetter,
        .protocolError: .deadLetter,

        .expiredProviderToken: .retry(.later),
        .tooManyProviderTokenUpdates: .retry(.later),
        .tooManyRequests: .retry(.deviceIsBusy),
        .idleTimeout: .retry(.later),
        .internalServerError: .retry(.later),
        .serviceUnavailable: .retry(.later),
        .shutdown: .retry(.later),
        .processingError: .retry(.later),
        .unknown: .retry(.later),
        .noErrorsEncountered: .retry(.later),
    ]
}
