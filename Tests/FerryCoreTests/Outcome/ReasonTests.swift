import FerryCore
import Testing

@Suite struct ReasonTests {
    @Test func `Every status code leads to a reason and back to itself`() {
        for status in UInt8.min...UInt8.max {
            #expect(Reason(binaryStatus: status).binaryStatus == status)
        }
        let reasons = Set((UInt8.min...UInt8.max).map { Reason(binaryStatus: $0) })
        #expect(reasons.count == 256)
    }

    @Test(
        arguments: [
            (0, "NoErrorsEncountered"), (1, "ProcessingError"), (2, "MissingDeviceToken"), (3, "MissingTopic"),
            (4, "PayloadEmpty"), (5, "InvalidTokenSize"), (6, "InvalidTopicSize"), (7, "PayloadTooLarge"),
            (8, "BadDeviceToken"), (9, "Status9"), (10, "Shutdown"), (128, "ProtocolError"), (255, "Unknown"),
        ] as [(UInt8, String)]
    )
    func `Status codes have APNs' words where it has one`(status: UInt8, word: String) {
        #expect(Reason(binaryStatus: status).description == word)
    }

    @Test(
        arguments: [
            ("Unregistered", 8), ("ExpiredToken", 8), ("DeviceTokenNotForTopic", 8), ("BadTopic", 6),
            ("TopicDisallowed", 3),
            ("InternalServerError", 1), ("ServiceUnavailable", 1), ("Service Unavailable", 1),
            ("ChannelNotRegistered", 255), ("BadPriority", 255), ("InvalidProviderToken", 255),
            ("SomethingNew", 255), ("", 255), ("Status", 255), ("Status256", 255), ("Status-1", 255), ("Status77", 77),
        ] as [(String, UInt8)]
    )
    func `Every word has a status code`(word: String, status: UInt8) {
        #expect(Reason(rawValue: word).binaryStatus == status)
    }

    @Test func `No reason but a shutdown tells a legacy client that the notification was accepted`() {
        for reason in Self.http + Self.channels where reason != .shutdown {
            #expect(![0, 10].contains(reason.binaryStatus), "\(reason)")
        }
    }

    @Test func `Every known reason is explained, an unknown one is kept`() {
        #expect(Self.http.count == 32)
        for reason in Self.http + Self.channels {
            #expect(reason.explanation != nil, "\(reason)")
        }
        for status: UInt8 in [0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 128, 255] {
            #expect(Reason(binaryStatus: status).explanation != nil)
            #expect(!BinaryStatus(rawValue: status).description.hasPrefix("status"))
        }
        #expect(Reason(rawValue: "SomethingNew").explanation == nil)
        #expect(Reason(rawValue: "SomethingNew").description == "SomethingNew")
        #expect(BinaryStatus(rawValue: 9).description == "status 9")
    }

    /// Apple's table of error strings.
    private static let http = [
        "BadCollapseId", "BadDeviceToken", "BadExpirationDate", "BadMessageId", "BadPriority", "BadTopic",
        "DeviceTokenNotForTopic", "DuplicateHeaders", "IdleTimeout", "InvalidPushType", "MissingDeviceToken",
        "MissingTopic", "PayloadEmpty", "TopicDisallowed", "BadCertificate", "BadCertificateEnvironment",
        "ExpiredProviderToken", "Forbidden", "InvalidProviderToken", "MissingProviderToken", "UnrelatedKeyIdInToken",
        "BadEnvironmentKeyIdInToken", "BadPath", "MethodNotAllowed", "ExpiredToken", "Unregistered", "PayloadTooLarge",
        "TooManyProviderTokenUpdates", "TooManyRequests", "InternalServerError", "ServiceUnavailable", "Shutdown",
    ].map(Reason.init(rawValue:))

    /// The words that only Apple's table for broadcast and channels has.
    private static let channels = [
        "BadChannelId", "BadRequestParams", "BadRequestPayload", "CannotCreateChannelConfig", "ChannelNotRegistered",
        "FeatureNotEnabled", "MissingChannelId", "MissingPushType", "TopicMismatch", "Service Unavailable",
    ].map(Reason.init(rawValue:))
}
