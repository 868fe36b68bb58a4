internal import FerryCore
internal import FerryHTTP2
internal import FerryMachine

/// The checks of APNs on a request about channels, in this order. The answer is the first fault.
///
/// | request | fault |
/// |---|---|
/// | a field that APNs knows came twice | DuplicateHeaders |
/// | `:path` is not that of a bundle ID's channels | BadPath |
/// | `:method` is not one of the path | MethodNotAllowed |
/// | `authorization`, on a connection without a client certificate | see ``ProviderTokenVerifier`` |
/// | the client's certificate is not for the bundle ID | TopicMismatch |
/// | the script does not allow the bundle ID, or it ends in the suffix of a push type | TopicDisallowed |
/// | `apns-request-id` is not a UUID | BadMessageId |
/// | a creation without a body | PayloadEmpty |
/// | with a body of more than 4096 bytes | PayloadTooLarge |
/// | with a body that is no JSON object | BadRequestPayload |
/// | without `push-type` | MissingPushType |
/// | with another `push-type` than `LiveActivity` | InvalidPushType |
/// | without `message-storage-policy` 0 or 1 | BadRequestParams |
/// | of one channel more than 10,000 | CannotCreateChannelConfig |
/// | a reading or deletion without `apns-channel-id` | MissingChannelId |
/// | with one that is not Base64 | BadChannelId |
/// | with one that the app does not have | ChannelNotRegistered |
/// | a broadcast with a fault of `apns-channel-id` | as for a reading |
/// | without `apns-push-type`; with another than `liveactivity`, in any case of letters | MissingPushType; InvalidPushType |
/// | without `apns-priority` 10, 5 or 1 | BadPriority |
/// | without `apns-expiration` as a decimal number; with one that is not 0, to a channel that stores no messages | BadExpirationDate |
/// | without a body; with one of more than 5120 bytes | PayloadEmpty; PayloadTooLarge |
extension APNsRequestCheck {
    /// Returns the first fault; nil if APNs carries the request out.
    mutating func fault(
        of channel: APNsChannelRequest,
        _ request: borrowing APNsRequest,
        body: () throws(ChannelFault) -> ChannelBody,
        bodyLength: Int,
        in table: ChannelTable,
        now: Moment
    ) -> Reason? {
        if request.hasDuplicates { return .duplicateHeaders }
        let action: HTTP2Rule.ChannelAction
        switch channel.action {
        case .refused(let reason): return reason
        case .valid(let valid): action = valid
        }
        if let fault = self.authorization?.fault(of: request[.authorization], now: now) { return fault }
        if let topics = self.certificateTopics, !topics.contains(channel.bundleID) { return .topicMismatch }
        if let topics = self.script.topics, !topics.contains(channel.bundleID) { return .topicDisallowed }
        if self.hasSuffix(channel.bundleID) { return .topicDisallowed }
        if let id = request[.requestID], APNSID(text: id) == nil { return .badMessageID }
        switch action {
        case .create:
            do { _ = try body() } catch { return error.reason }
            return table.isFull(channel.bundleID) ? .cannotCreateChannelConfig : nil
        case .read, .delete, .broadcast:
            guard let text = request[.channelID] else { return .missingChannelID }
            guard let id = ChannelID(text) else { return .badChannelID }
            guard let policy = table.policy(of: id, of: channel.bundleID) else { return .channelNotRegistered }
            return action == .broadcast ? self.broadcastFault(request, policy, bodyLength: bodyLength) : nil
        case .list:
            return nil
        }
    }

    private func broadcastFault(
        _ request: borrowing APNsRequest,
        _ policy: MessageStoragePolicy,
        bodyLength: Int
    ) -> Reason? {
        guard let pushType = request.text(.pushType) else { return .missingPushType }
        guard pushType.lowercased() == "liveactivity" else { return .invalidPushType }
        guard let priority = request[.priority].flatMap({ Int64(decimal: $0) }).flatMap({ UInt8(exactly: $0) }),
            Priority(rawValue: priority) != nil
        else { return .badPriority }
        guard let expiration = request[.expiration].flatMap({ Int64(decimal: $0) }),
            policy != .noMessageStored || expiration == 0
        else { return .badExpirationDate }
        if bodyLength == 0 { return .payloadEmpty }
        return bodyLength > PayloadLimit.broadcast ? .payloadTooLarge : nil
    }

    private func hasSuffix(_ bundleID: String) -> Bool {
        var bundleID = bundleID
        return bundleID.withUTF8 { bundleID in PushTypeTable().all.contains { $0.suffix.ends(bundleID) } }
    }
}
