internal import FerryCore

/// The faults of a broadcast that APNs would refuse.
///
/// Source: "Sending broadcast push notification requests to APNs" (Apple).
extension RequestCheck {
    /// Returns the fault of a broadcast whose bytes stand in `arena`; nil when there is none.
    func broadcastFault(of entry: BatchEntry, in arena: UnsafePointer<UInt8>) -> RequestFault? {
        let topic = UnsafeBufferPointer(
            start: arena + Int(entry.offset) + Int(entry.tokenLength) + Int(entry.payloadLength),
            count: Int(entry.topicLength)
        )
        if let fault = self.faultOfBundleID(topic) { return fault }
        guard entry.pushType == 0 || entry.pushType == PushType.liveactivity.code else {
            return .broadcastOfAnotherType
        }
        guard entry.collapseIDLength == 0 else { return .broadcastWithCollapseID }
        let length = Int(entry.payloadLength)
        return 1...PayloadLimit.broadcast ~= length ? nil : .payload(length: length, limit: PayloadLimit.broadcast)
    }

    /// - Parameter topic: empty when the notification names none.
    private func faultOfBundleID(_ topic: UnsafeBufferPointer<UInt8>) -> RequestFault? {
        if topic.isEmpty {
            guard self.defaultTopic.exists else { return .missingTopic }
            return self.defaultTopic.withBytes(pushType: 0) { Self.isBundleID($0) ? nil : .malformedBundleID }
        }
        guard Self.isBundleID(topic) else { return .malformedBundleID }
        guard !self.defaultTopic.isBundleID(topic) else { return nil }
        for index in self.table.all.indices where self.table.all[index].suffix.ends(topic) {
            return .broadcastWithSuffix(self.table.all[index])
        }
        return nil
    }

    /// Whether the bytes may stand in the path of a request.
    static func isBundleID(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        // A proxy may take a path that ends in a dot segment for a shorter one.
        bytes.first != UInt8(ascii: ".") && bytes.allSatisfy { $0.isASCIIAlphanumeric || "-_.".utf8.contains($0) }
    }
}

// MARK: - Each fault's sentence

extension RequestFault {
    fileprivate static let broadcastOfAnotherType = RequestFault(
        .invalidPushType,
        "a broadcast has the push type liveactivity, or none"
    )

    fileprivate static let broadcastWithCollapseID = RequestFault(.badCollapseID, "a broadcast has no collapse id")

    fileprivate static let malformedBundleID = RequestFault(
        .badTopic,
        "the topic of a broadcast is the app's bundle ID: letters, digits, hyphens, underscores, and periods not at its start"
    )

    fileprivate static func broadcastWithSuffix(_ rules: PushTypeRules) -> RequestFault {
        RequestFault(
            .topicDisallowed,
            "the topic ends in \(rules.suffix.text); that of a broadcast is the app's bundle ID alone"
        )
    }
}
