/// A row of ``Reason/table``, which has everything that Ferry does with one reason.
package struct ReasonRow: Hashable, Sendable {
    /// The answers that have the reason.
    package enum Occurrence: Hashable, Sendable {
        /// APNs' answers to notifications over HTTP/2, with this status.
        case http2(Int, RetryRule)
        /// APNs' answers about broadcast and channels alone, with this status.
        case channels(Int)
        /// Error responses of the binary protocol alone.
        case binary
    }

    package let reason: Reason
    /// The number of the reason in the interface for C. It never changes, and a new reason gets the next number.
    package let number: UInt16
    package let occurrence: Occurrence
    /// The nearest status of the binary protocol: the answer of a gateway that discards the followers, as Apple's did.
    /// A client of Ferry's gateway is told it only where ``gateway`` says so; see ``Rejection/legacyStatus``.
    package let binaryStatus: BinaryStatus
    /// The reaction of Ferry's gateway, which delivers the followers.
    package let gateway: GatewayReaction

    fileprivate init(
        _ reason: Reason,
        _ number: UInt16,
        _ occurrence: Occurrence,
        binary binaryStatus: BinaryStatus,
        gateway: GatewayReaction
    ) {
        self.reason = reason
        self.number = number
        self.occurrence = occurrence
        self.binaryStatus = binaryStatus
        self.gateway = gateway
    }

    /// The status that comes with the reason over HTTP/2.
    package var httpStatus: Int? {
        switch self.occurrence {
        case .http2(let status, _), .channels(let status): status
        case .binary: nil
        }
    }

    /// Whether APNs refuses the device token, and does not say that the device lost the app. APNs counts such refusals
    /// against the connection.
    package var refusesToken: Bool { self.binaryStatus == .invalidToken && self.gateway != .feedback }
}

extension Reason {
    /// The row of the reason; nil for a reason that Ferry does not know.
    package var row: ReasonRow? { Self.rows[self] }

    private static let rows = Dictionary(uniqueKeysWithValues: Self.table.map { ($0.reason, $0) })

    /// Whether Ferry knows the reason. If not, it is the peer's own text. A metric must not have it as a dimension,
    /// because a peer could make any number of series.
    public var isKnown: Bool { self.row != nil }

    /// Every reason that Ferry knows.
    package static var known: [Reason] { Self.table.map(\.reason) }

    /// Whether the peer says that the device lost the app.
    package var isOfGoneDevice: Bool { self.row?.gateway == .feedback }

    /// The reason as one of a closed set of values: `unknown` stands for all that Ferry does not know.
    package func dimension(unknown: String) -> String {
        self.isKnown ? self.rawValue : unknown
    }

    /// A row for each reason that Ferry knows: first Apple's table of error strings, in its order.
    package static let table: [ReasonRow] = [
        .init(.badCollapseID, 1, .http2(400, .afterRepair), binary: .unknown, gateway: .deadLetter),
        .init(.badDeviceToken, 2, .http2(400, .never), binary: .invalidToken, gateway: .told),
        .init(.badExpirationDate, 3, .http2(400, .afterRepair), binary: .unknown, gateway: .deadLetter),
        .init(.badMessageID, 4, .http2(400, .afterRepair), binary: .unknown, gateway: .deadLetter),
        .init(.badPriority, 5, .http2(400, .afterRepair), binary: .unknown, gateway: .deadLetter),
        // Status 6 can only mean a malformed topic. The binary protocol takes the topic from the certificate, so a
        // topic that the credentials do not cover is missing there.
        .init(.badTopic, 6, .http2(400, .afterRepair), binary: .invalidTopicSize, gateway: .blocked),
        // "Invalid token" covers a token of another environment, and so a token of another app.
        .init(.deviceTokenNotForTopic, 7, .http2(400, .never), binary: .invalidToken, gateway: .otherTopic),
        .init(.duplicateHeaders, 8, .http2(400, .afterRepair), binary: .unknown, gateway: .deadLetter),
        // The reason is about the connection. The request came too late on it and was not processed.
        .init(.idleTimeout, 9, .http2(400, .elsewhere), binary: .processingError, gateway: .again),
        .init(.invalidPushType, 10, .http2(400, .afterRepair), binary: .unknown, gateway: .deadLetter),
        .init(.missingDeviceToken, 11, .http2(400, .afterRepair), binary: .missingDeviceToken, gateway: .told),
        .init(.missingTopic, 12, .http2(400, .afterRepair), binary: .missingTopic, gateway: .blocked),
        .init(.payloadEmpty, 13, .http2(400, .afterRepair), binary: .missingPayload, gateway: .told),
        .init(.topicDisallowed, 14, .http2(400, .afterRepair), binary: .missingTopic, gateway: .blocked),

        // The binary protocol refused bad credentials in the handshake, and has no status for them.
        .init(.badCertificate, 15, .http2(403, .afterRepair), binary: .unknown, gateway: .blocked),
        .init(.badCertificateEnvironment, 16, .http2(403, .afterRepair), binary: .unknown, gateway: .blocked),
        .init(.expiredProviderToken, 17, .http2(403, .withNewToken), binary: .processingError, gateway: .again),
        .init(.forbidden, 18, .http2(403, .never), binary: .unknown, gateway: .blocked),
        .init(.invalidProviderToken, 19, .http2(403, .afterRepair), binary: .unknown, gateway: .blocked),
        .init(.missingProviderToken, 20, .http2(403, .afterRepair), binary: .unknown, gateway: .blocked),
        .init(.unrelatedKeyIDInToken, 21, .http2(403, .onNewConnection), binary: .unknown, gateway: .blocked),
        .init(.badEnvironmentKeyIDInToken, 22, .http2(403, .afterRepair), binary: .unknown, gateway: .blocked),

        .init(.badPath, 23, .http2(404, .afterRepair), binary: .unknown, gateway: .deadLetter),
        .init(.methodNotAllowed, 24, .http2(405, .afterRepair), binary: .unknown, gateway: .deadLetter),

        // The feedback service reported tokens that were no longer valid. Of the statuses, only 8 makes a client stop
        // using a token.
        .init(.expiredToken, 25, .http2(410, .never), binary: .invalidToken, gateway: .feedback),
        .init(.unregistered, 26, .http2(410, .never), binary: .invalidToken, gateway: .feedback),

        .init(.payloadTooLarge, 27, .http2(413, .never), binary: .invalidPayloadSize, gateway: .told),

        // The notification has no fault, and clients send it again after status 1. Status 10 sounds nearer, but would
        // mean that the notification was accepted.
        .init(.tooManyProviderTokenUpdates, 28, .http2(429, .whenThawed), binary: .processingError, gateway: .again),
        .init(.tooManyRequests, 29, .http2(429, .forDevice), binary: .processingError, gateway: .againForDevice),
        .init(.internalServerError, 30, .http2(500, .later), binary: .processingError, gateway: .again),
        .init(.serviceUnavailable, 31, .http2(503, .later), binary: .processingError, gateway: .again),
        .init(.shutdown, 32, .http2(503, .later), binary: .shutdown, gateway: .again),

        // APNs gives these answers to requests about channels and to broadcasts, and the gateway makes neither.
        .init(.badChannelID, 40, .channels(400), binary: .unknown, gateway: .unforeseen),
        .init(.badRequestParams, 41, .channels(400), binary: .unknown, gateway: .unforeseen),
        // Ferry gives a payload that is no JSON object this reason. Status 1 is the literal one, but some clients try
        // for ever after it. Of the others, only 7 is about a payload that is there.
        .init(.badRequestPayload, 39, .channels(400), binary: .invalidPayloadSize, gateway: .toldIfFoundHere),
        .init(.cannotCreateChannelConfig, 42, .channels(400), binary: .unknown, gateway: .unforeseen),
        .init(.channelNotRegistered, 43, .channels(400), binary: .unknown, gateway: .unforeseen),
        .init(.featureNotEnabled, 44, .channels(400), binary: .unknown, gateway: .unforeseen),
        .init(.missingChannelID, 45, .channels(400), binary: .unknown, gateway: .unforeseen),
        .init(.missingPushType, 46, .channels(400), binary: .unknown, gateway: .unforeseen),
        .init(.topicMismatch, 47, .channels(403), binary: .unknown, gateway: .unforeseen),
        .init(.channelServiceUnavailable, 48, .channels(503), binary: .processingError, gateway: .unforeseen),

        .init(.noErrorsEncountered, 33, .binary, binary: .noErrorsEncountered, gateway: .again),
        .init(.processingError, 34, .binary, binary: .processingError, gateway: .again),
        .init(.invalidTokenSize, 35, .binary, binary: .invalidTokenSize, gateway: .told),
        .init(.invalidTopicSize, 36, .binary, binary: .invalidTopicSize, gateway: .blocked),
        .init(.protocolError, 37, .binary, binary: .protocolError, gateway: .deadLetter),
        .init(.unknown, 38, .binary, binary: .unknown, gateway: .again),
    ]
}
