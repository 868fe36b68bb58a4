internal import FerryCore

/// The numbers of reasons. The numbers in the list never change, and new reasons are appended. A reason that APNs
/// invents later gets the next free number when it first arrives.
struct ReasonNumbers {
    /// The first number for reasons that are not in the list.
    static let firstUnknown: UInt16 = 0xf000
    /// The largest number of such reasons. All further ones have the number of ``Reason/unknown``.
    static let unknownLimit = 256

    private static let known: [Reason] = [
        .badCollapseID, .badDeviceToken, .badExpirationDate, .badMessageID, .badPriority, .badTopic,
        .deviceTokenNotForTopic, .duplicateHeaders, .idleTimeout, .invalidPushType, .missingDeviceToken, .missingTopic,
        .payloadEmpty, .topicDisallowed, .badCertificate, .badCertificateEnvironment, .expiredProviderToken, .forbidden,
        .invalidProviderToken, .missingProviderToken, .unrelatedKeyIDInToken, .badEnvironmentKeyIDInToken, .badPath,
        .methodNotAllowed, .expiredToken, .unregistered, .payloadTooLarge, .tooManyProviderTokenUpdates,
        .tooManyRequests, .internalServerError, .serviceUnavailable, .shutdown, .noErrorsEncountered, .processingError,
        .invalidTokenSize, .invalidTopicSize, .protocolError, .unknown, .badRequestPayload,
    ]

    private static let numbers: [Reason: UInt16] = Dictionary(
        uniqueKeysWithValues: Self.known.enumerated().map { ($1, UInt16(truncatingIfNeeded: $0 + 1)) }
    )
    /// The texts of the reasons. They live as long as the process, because a caller may keep them.
    private static let texts = Self.known.map { ForeverText($0.rawValue) }
    private static let unknown = Monitor(ReasonNumbers())

    private var reasons: [Reason: UInt16] = [:]
    private var texts: [ForeverText] = []

    static func number(of reason: Reason) -> UInt16 {
        if let number = self.numbers[reason] { return number }
        return self.unknown.withLock { $0.number(of: reason) }
    }

    private mutating func number(of reason: Reason) -> UInt16 {
        if let number = self.reasons[reason] { return number }
        guard self.texts.count < Self.unknownLimit else { return Self.numbers[.unknown] ?? 0 }
        let number = Self.firstUnknown + UInt16(truncatingIfNeeded: self.texts.count)
        self.reasons[reason] = number
        self.texts.append(ForeverText(reason.rawValue))
        return number
    }

    /// Returns the text of a number; nil if no reason has the number.
    static func text(of number: UInt32) -> UnsafePointer<CChar>? {
        if number >= 1, number <= self.texts.count { return self.texts[Int(number) - 1].pointer }
        guard number >= self.firstUnknown else { return nil }
        return self.unknown.withLock { unknown in
            let index = Int(number) - Int(self.firstUnknown)
            return index < unknown.texts.count ? unknown.texts[index].pointer : nil
        }
    }
}
