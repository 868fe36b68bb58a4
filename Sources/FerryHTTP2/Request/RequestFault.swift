package import FerryCore

/// A fault for which APNs would refuse a request, found before the request was sent.
package struct RequestFault: Hashable, Sendable, CustomStringConvertible {
    /// The reason that APNs would give.
    package var reason: Reason
    /// The fault, with the limit that was exceeded. Contains neither token nor payload.
    package var message: String

    package init(_ reason: Reason, _ message: String) {
        self.reason = reason
        self.message = message
    }

    /// The message.
    package var description: String { self.message }

    /// The refusal that becomes the notification's outcome.
    package var rejection: Rejection {
        Rejection(reason: self.reason, origin: .ferry, details: self.message.asSentence)
    }
}

// MARK: - Each fault's sentence

extension RequestFault {
    static func token(length: Int) -> RequestFault {
        if length == 0 { return RequestFault(.missingDeviceToken, "the device token is empty") }
        let limit = DeviceToken.maximumLength
        return RequestFault(.badDeviceToken, "the device token has \(length) bytes; the limit is \(limit)")
    }

    static let missingTopic = RequestFault(
        .missingTopic,
        "the notification has no topic, and a provider token is good for many: give the app's bundle ID"
    )

    static func topicWithoutSuffix(_ rules: PushTypeRules) -> RequestFault {
        let suffix = rules.suffix.text
        return RequestFault(
            .badTopic,
            "the topic does not end in \(suffix): that of push type \(rules.type.rawValue) is the bundle ID and \(suffix)"
        )
    }

    static func topicOfAnotherType(_ rules: PushTypeRules, _ other: PushTypeRules) -> RequestFault {
        let (type, otherType) = (rules.type.rawValue, other.type.rawValue)
        return RequestFault(
            .badTopic,
            "the topic ends in \(other.suffix.text), which is for push type \(otherType), but the push type is \(type)"
        )
    }

    static func pushType(code: UInt8) -> RequestFault {
        RequestFault(.invalidPushType, "there is no push type with the code \(code)")
    }

    static func needsProviderToken(_ rules: PushTypeRules) -> RequestFault {
        RequestFault(
            .forbidden,
            "push type \(rules.type.rawValue) needs provider tokens, and the provider uses a certificate"
        )
    }

    static func priority(_ priority: UInt8, _ rules: PushTypeRules?) -> RequestFault {
        let allowed = (rules?.priorities ?? Priority.allCases).map { "\($0.rawValue)" }.joined(separator: ", ")
        let owner = rules.map { "push type \($0.type.rawValue) takes" } ?? "it can be"
        return RequestFault(.badPriority, "the priority is \(priority); \(owner) \(allowed)")
    }

    static func collapseID(length: Int) -> RequestFault {
        let limit = PushNotification.maximumCollapseIDLength
        return RequestFault(.badCollapseID, "the collapse id has \(length) bytes; the limit is \(limit)")
    }

    static let malformedCollapseID = RequestFault(
        .badCollapseID,
        "the collapse id begins or ends with white space, or holds a control character, which HTTP cannot carry"
    )

    static func payload(length: Int, limit: Int) -> RequestFault {
        if length == 0 { return RequestFault(.payloadEmpty, "the payload is empty") }
        return RequestFault(.payloadTooLarge, PayloadLimit.fault(length: length, limit: limit))
    }
}
