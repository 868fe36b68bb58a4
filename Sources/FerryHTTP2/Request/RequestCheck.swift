package import FerryCore

/// A check for the faults that APNs would refuse, before a notification is sent.
///
/// It refuses only what APNs is known to refuse, and leaves everything else to APNs. The checks run in the order of the
/// code, and the first fault is the result.
///
/// Cost: without a fault no allocation, and time only in the lengths of topic and collapse id.
package struct RequestCheck: Sendable {
    /// Whether provider tokens authenticate. If not, a certificate does.
    package let usesTokens: Bool
    package let table: PushTypeTable
    package let defaultTopic: DefaultTopic

    /// - Parameters:
    ///   - bundleID: the topic of notifications that name none; nil when there is no default. A topic that equals it
    ///     passes with every push type that has no suffix: an app may be called `com.example.voip`.
    ///   - usesTokens: whether provider tokens authenticate. If not, a certificate does, and APNs takes its topic when
    ///     a notification has none.
    package init(bundleID: String?, usesTokens: Bool, table: PushTypeTable = PushTypeTable()) {
        self.usesTokens = usesTokens
        self.table = table
        self.defaultTopic = DefaultTopic(bundleID: bundleID, table: table)
    }

    /// Returns the fault of an entry whose bytes stand in `arena`; nil when there is none.
    package func fault(of entry: BatchEntry, in arena: UnsafePointer<UInt8>) -> RequestFault? {
        if entry.fields.isBroadcast { return self.broadcastFault(of: entry, in: arena) }
        let topic = Int(entry.offset) + Int(entry.tokenLength) + Int(entry.payloadLength)
        let collapseID = topic + Int(entry.topicLength)
        return self.fault(
            tokenLength: Int(entry.tokenLength),
            topic: UnsafeBufferPointer(start: arena + topic, count: Int(entry.topicLength)),
            pushType: entry.pushType,
            priority: entry.priority,
            collapseID: UnsafeBufferPointer(start: arena + collapseID, count: Int(entry.collapseIDLength)),
            payloadLength: Int(entry.payloadLength)
        )
    }

    /// Returns the fault of a notification to a device, for tools that report it; nil when there is none.
    package func fault(of notification: PushNotification, to device: DeviceToken) -> RequestFault? {
        var topic = notification.topic ?? ""
        var collapseID = notification.collapseID ?? ""
        return topic.withUTF8 { topic in
            collapseID.withUTF8 { collapseID in
                self.fault(
                    tokenLength: device.bytes.count,
                    topic: topic,
                    pushType: notification.pushType?.code ?? 0,
                    priority: notification.priority?.rawValue ?? 0,
                    collapseID: collapseID,
                    payloadLength: notification.payload.count
                )
            }
        }
    }

    /// Returns the fault of a request; nil when there is none.
    ///
    /// - Parameters:
    ///   - topic: the notification's topic, in visible ASCII characters; empty when it names none.
    ///   - pushType: a ``PushType/code``; 0 when none was given.
    ///   - priority: the raw value; 0 when none was given.
    ///   - collapseID: empty when there is none.
    package func fault(
        tokenLength: Int,
        topic: UnsafeBufferPointer<UInt8>,
        pushType: UInt8,
        priority: UInt8,
        collapseID: UnsafeBufferPointer<UInt8>,
        payloadLength: Int
    ) -> RequestFault? {
        guard 1...DeviceToken.maximumLength ~= tokenLength else { return .token(length: tokenLength) }
        if topic.isEmpty, self.usesTokens, !self.defaultTopic.exists { return .missingTopic }
        let rules = self.table[pushType]
        if let rules {
            if rules.needsProviderToken, !self.usesTokens { return .needsProviderToken(rules) }
            if !topic.isEmpty, let fault = self.contradiction(between: topic, and: rules) { return fault }
            if priority != 0, !rules.takes(priority: priority) { return .priority(priority, rules) }
        } else {
            guard pushType == 0 else { return .pushType(code: pushType) }
            if priority != 0, Priority(rawValue: priority) == nil { return .priority(priority, nil) }
        }
        guard collapseID.count <= PushNotification.maximumCollapseIDLength else {
            return .collapseID(length: collapseID.count)
        }
        guard Self.isFieldValue(collapseID) else { return .malformedCollapseID }
        guard payloadLength > 0, payloadLength <= PayloadLimit.http2 else {
            // Almost all payloads are below the smallest limit, so the exact limit is rarely needed.
            let limit = self.payloadLimit(rules, topic: topic)
            return 1...limit ~= payloadLength ? nil : .payload(length: payloadLength, limit: limit)
        }
        return nil
    }

    /// Whether HTTP can carry the bytes unchanged: no white space at either end, no control character but a tab (RFC
    /// 9110 section 5.5). A request with other bytes is malformed, and a server resets it or drops the field.
    private static func isFieldValue(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        func isSpace(_ byte: UInt8?) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
        guard !isSpace(bytes.first), !isSpace(bytes.last) else { return false }
        return bytes.allSatisfy { $0 >= 0x20 && $0 != 0x7f || $0 == UInt8(ascii: "\t") }
    }

    /// Whether the default topic is sent: the notification names no topic, or the bundle ID with a push type that appends a
    /// suffix.
    ///
    /// - Parameter topic: the notification's topic; empty when it names none.
    func sendsDefaultTopic(for topic: UnsafeBufferPointer<UInt8>, pushType: UInt8) -> Bool {
        if topic.isEmpty { return true }
        guard let suffix = self.table[pushType]?.suffix, !suffix.isEmpty else { return false }
        return self.defaultTopic.isBundleID(topic)
    }

    /// Returns the fault of a topic that lacks the suffix of its push type, or has that of another. The bundle ID of the
    /// provider gets the suffix.
    private func contradiction(
        between topic: UnsafeBufferPointer<UInt8>,
        and rules: PushTypeRules
    ) -> RequestFault? {
        guard rules.suffix.isEmpty else {
            return rules.suffix.ends(topic) || self.defaultTopic.isBundleID(topic) ? nil : .topicWithoutSuffix(rules)
        }
        for index in self.table.all.indices where self.table.all[index].suffix.ends(topic) {
            return self.defaultTopic.isBundleID(topic) ? nil : .topicOfAnotherType(rules, self.table.all[index])
        }
        return nil
    }

    /// Returns the limit of the payload. Without a push type, APNs decides by the topic, as it did before push types
    /// existed.
    private func payloadLimit(_ rules: PushTypeRules?, topic: UnsafeBufferPointer<UInt8>) -> Int {
        if let rules { return rules.payloadLimit }
        guard let voip = self.table[PushType.voip.code], voip.suffix.ends(topic) else {
            return PayloadLimit.http2
        }
        return voip.payloadLimit
    }
}
