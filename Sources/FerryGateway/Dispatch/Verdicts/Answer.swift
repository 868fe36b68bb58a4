package import FerryCore

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// What the gateway does with an outcome of its upstream.
///
/// The old clients know nine status codes, and do different things on each. A code that makes one of them give up, or
/// try for ever, is never sent for a fault that is not the client's.
package enum Answer: Hashable, Sendable {
    /// The client counts it as accepted: nothing is said.
    case accepted
    /// The client counts it as accepted, as with Apple's gateway. The feedback list gets the token, with APNs' time in
    /// UNIX seconds.
    case gone(since: UInt32?)
    /// An error response may name it.
    case refused(BinaryStatus)
    /// The token belongs to another topic of the identity, or is refused with status 8.
    case tryOtherTopic
    /// It goes out again, with the same `apns-id`, after this time.
    case retry(Retry)
    /// The topic or the credentials are at fault, and so would be every notification: keep it, and sound the alarm.
    case blocked
    /// The request was at fault, which the gateway made: keep it in the list of dead letters, and sound the alarm.
    case deadLetter
    /// Its expiration passed before it was sent.
    case expired
    /// It may have arrived. The configuration decides whether it goes out again.
    case unknown

    /// How soon a notification goes out again.
    package enum Retry: Hashable, Sendable {
        /// After the back-off.
        case later
        /// The device gets too many: wait longer, and hold up nothing else.
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
            // A reason that Ferry does not know: a server's fault mends itself, a request's fault does not.
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
