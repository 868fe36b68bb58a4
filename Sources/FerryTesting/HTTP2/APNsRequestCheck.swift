package import FerryCore
internal import FerryHTTP2
package import FerryMachine

/// The checks of APNs on the requests of one connection, in this order. The answer is the first fault.
///
/// | request | fault |
/// |---|---|
/// | a field that APNs knows came twice | DuplicateHeaders |
/// | `:method` is not POST | MethodNotAllowed |
/// | `:path` does not begin with `/3/device/` | BadPath |
/// | no token after it | MissingDeviceToken |
/// | a token that is not hexadecimal, or has more than 100 bytes | BadDeviceToken |
/// | `authorization`, on a connection without a client certificate | see ``ProviderTokenVerifier`` |
/// | no `apns-topic`, and no certificate with exactly one topic | MissingTopic |
/// | `apns-topic` with characters other than letters, digits, `-`, `_` and `.` | BadTopic |
/// | an unknown `apns-push-type` | InvalidPushType |
/// | a topic without the suffix of its push type, or with the suffix of another; a topic that the certificate or the script does not allow | TopicDisallowed |
/// | push type `location` with a certificate | Forbidden |
/// | `apns-priority` is not 10, 5 or 1, or its push type does not allow it: `background` needs 5; the default is 10 | BadPriority |
/// | `apns-expiration` is not a decimal number | BadExpirationDate |
/// | `apns-id` is not a UUID | BadMessageId |
/// | `apns-collapse-id` has more than 64 bytes | BadCollapseId |
/// | an empty body | PayloadEmpty |
/// | a body of more than 4096 bytes, 5120 for `voip`, or the script's limit | PayloadTooLarge |
///
/// The body need not be JSON: APNs answers before it parses it.
package struct APNsRequestCheck: ~Copyable {
    let script: HTTP2Script
    /// The topics of the client's certificate; nil without a certificate.
    let certificateTopics: [String]?
    var authorization: APNsAuthorization?
    /// The topic and push type of the last valid request. Nearly all requests have the same, so they need no second
    /// check.
    private var lastTopic: [UInt8] = []
    private var lastPushType: [UInt8] = []
    private var hasLast = false
    private var pushTypeRules: PushTypeRules?
    private var payloadLimit = 0
    private static let table = PushTypeTable()

    /// - Parameters:
    ///   - certificateTopics: the topics of the client's certificate; nil if the client showed no certificate.
    ///   - authorization: the check of provider tokens; nil: they are not checked.
    package init(script: HTTP2Script, certificateTopics: [String]?, authorization: consuming APNsAuthorization?) {
        self.script = script
        self.certificateTopics = certificateTopics
        self.authorization = authorization
    }

    /// Returns the first fault; nil if APNs accepts the request. Also decodes the request's token.
    package mutating func fault(
        of request: inout APNsRequest,
        bodyLength: Int,
        now: Moment
    ) -> Reason? {
        if request.hasDuplicates { return .duplicateHeaders }
        guard request[.method]?.equals("POST") == true else { return .methodNotAllowed }
        if let fault = request.decodeToken() { return fault }
        if let fault = self.authorization?.fault(of: request[.authorization], now: now) { return fault }
        if let fault = self.topicFault(request) { return fault }
        if let fault = self.priorityFault(request) { return fault }
        if let expiration = request[.expiration], Int64(decimal: expiration) == nil { return .badExpirationDate }
        if let id = request[.id], APNSID(text: id) == nil { return .badMessageID }
        if let collapseID = request[.collapseID], collapseID.count > PushNotification.maximumCollapseIDLength {
            return .badCollapseID
        }
        if bodyLength == 0 { return .payloadEmpty }
        return bodyLength > self.payloadLimit ? .payloadTooLarge : nil
    }

    private func priorityFault(_ request: borrowing APNsRequest) -> Reason? {
        // "If you omit this header, APNs sets the notification priority to 10" (Apple).
        let text = request[.priority]
        let priority = text.map { Int64(decimal: $0) ?? 0 } ?? Int64(Priority.immediate.rawValue)
        guard let value = UInt8(exactly: priority), Priority(rawValue: value) != nil else { return .badPriority }
        guard let rules = self.pushTypeRules else { return nil }
        return rules.takes(priority: value) ? nil : .badPriority
    }
}

// MARK: - Topics

extension APNsRequestCheck {
    private mutating func topicFault(_ request: borrowing APNsRequest) -> Reason? {
        let none = UnsafeBufferPointer<UInt8>(start: nil, count: 0)
        let (topic, pushType) = (request[.topic] ?? none, request[.pushType] ?? none)
        if self.hasLast, topic.elementsEqual(self.lastTopic), pushType.elementsEqual(self.lastPushType) { return nil }
        let text = request.text(.topic) ?? self.onlyTopic
        guard let text else { return .missingTopic }
        guard Self.isTopic(text) else { return .badTopic }
        let type = request.text(.pushType).flatMap(PushType.init(rawValue:))
        if type == nil, request[.pushType] != nil { return .invalidPushType }
        let rules = type.flatMap { Self.table[$0.code] }
        if let fault = self.fault(ofTopic: text, rules) { return fault }
        self.pushTypeRules = rules
        self.payloadLimit = self.payloadLimit(ofTopic: text, rules)
        self.lastTopic = Array(topic)
        self.lastPushType = Array(pushType)
        self.hasLast = true
        return nil
    }

    /// The topic of a certificate that has only one; otherwise nil.
    private var onlyTopic: String? {
        self.certificateTopics.flatMap { $0.count == 1 ? $0[0] : nil }
    }

    private static func isTopic(_ topic: String) -> Bool {
        !topic.isEmpty && topic.utf8.allSatisfy { $0.isASCIIAlphanumeric || "-_.".utf8.contains($0) }
    }

    private func fault(ofTopic topic: String, _ rules: PushTypeRules?) -> Reason? {
        if let rules, self.contradicts(topic, rules) { return .topicDisallowed }
        for allowed in [self.certificateTopics, self.script.topics].compactMap(\.self) {
            // A certificate or a script names an app. The app's topics with a suffix are allowed, too.
            guard allowed.contains(where: { topic == $0 || topic.hasPrefix("\($0).") }) else { return .topicDisallowed }
        }
        return rules?.needsProviderToken == true && self.certificateTopics != nil ? .forbidden : nil
    }

    /// Returns whether a topic lacks the suffix of its push type, or has the suffix of another push type.
    private func contradicts(_ topic: String, _ rules: PushTypeRules) -> Bool {
        var topic = topic
        return topic.withUTF8 { topic in
            if rules.suffix.ends(topic) { return false }
            // Accept complications with and without a suffix, because the sources disagree.
            if !rules.suffix.isEmpty { return rules.type != .complication }
            return Self.table.all.contains { $0.suffix.ends(topic) }
        }
    }

    private func payloadLimit(ofTopic topic: String, _ rules: PushTypeRules?) -> Int {
        if let limit = self.script.payloadLimit { return limit }
        if let rules { return rules.payloadLimit }
        return topic.hasSuffix(".voip") ? PayloadLimit.voip : PayloadLimit.http2
    }
}

extension Int64 {
    /// Reads a number that consists only of decimal digits.
    init?(decimal digits: UnsafeBufferPointer<UInt8>) {
        guard !digits.isEmpty else { return nil }
        var value: Int64 = 0
        for digit in digits {
            guard UInt8(ascii: "0")...UInt8(ascii: "9") ~= digit else { return nil }
            let (tenfold, isTooHigh) = value.multipliedReportingOverflow(by: 10)
            let (sum, isStillTooHigh) = tenfold.addingReportingOverflow(Int64(digit - UInt8(ascii: "0")))
            if isTooHigh || isStillTooHigh { return nil }
            value = sum
        }
        self = value
    }
}
