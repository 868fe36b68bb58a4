internal import FerryCore
internal import FerryHTTP2
internal import FerryMachine

// Requests about channels.
extension APNsMachine {
    /// What APNs answers to a request about channels.
    struct ChannelReply {
        var answer: APNsAnswer
        /// The channel that a request has made.
        var channelID: ChannelID?
        var body: [UInt8] = []
    }

    /// Returns the fault of the collected request, which is about channels.
    mutating func fault(of channel: APNsChannelRequest, _ stream: HTTP2Session.Stream, _ now: Moment) -> Reason? {
        let session = self.bodyOfCreation(stream)
        return self.check.fault(
            of: channel,
            self.request,
            body: { () throws(ChannelFault) in try session.get() },
            bodyLength: self.bodyLength(of: stream),
            in: self.channels,
            now: now
        )
    }

    private func bodyOfCreation(_ stream: HTTP2Session.Stream) -> Result<ChannelBody, ChannelFault> {
        let isTruncated = self.session.isBodyTruncated(stream)
        return self.session.withBody(of: stream) { text in
            Result { () throws(ChannelFault) in try ChannelBody(text, isTruncated: isTruncated) }
        }
    }

    /// Carries out the collected request, unless a rule refuses it, and returns its answer.
    mutating func carryOut(
        _ channel: APNsChannelRequest,
        _ answer: APNsAnswer,
        _ stream: HTTP2Session.Stream
    ) -> ChannelReply {
        guard answer.isAccepted, let action = channel.validAction else { return ChannelReply(answer) }
        let id = self.request[.channelID].flatMap { ChannelID($0) }
        switch action {
        case .create:
            guard case .success(let body) = self.bodyOfCreation(stream) else {
                return ChannelReply(APNsAnswer(.badRequestPayload))
            }
            guard let id = self.channels.create(body.policy, of: channel.bundleID) else {
                return ChannelReply(APNsAnswer(.cannotCreateChannelConfig))
            }
            return ChannelReply(answer: APNsAnswer(status: HTTPStatus.created.rawValue), channelID: id)
        case .read:
            guard let id, let policy = self.channels.policy(of: id, of: channel.bundleID) else {
                return ChannelReply(APNsAnswer(.channelNotRegistered))
            }
            let body = #"{"message-storage-policy":\#(policy.rawValue),"push-type":"\#(ChannelOperation.pushType)"}"#
            return ChannelReply(answer: .accepted, body: Array(body.utf8))
        case .delete:
            guard let id, self.channels.delete(id, of: channel.bundleID) else {
                return ChannelReply(APNsAnswer(.channelNotRegistered))
            }
            return ChannelReply(answer: APNsAnswer(status: HTTPStatus.noContent.rawValue))
        case .broadcast:
            return ChannelReply(answer: .accepted)
        case .list:
            // An identifier contains only Base64, so JSON needs no escapes.
            let list = self.channels.list(channel.bundleID).map { #""\#($0)""# }.joined(separator: ",")
            return ChannelReply(answer: .accepted, body: Array(#"{"channels":[\#(list)]}"#.utf8))
        }
    }

    /// Builds the fields of the answer to the collected request.
    mutating func fill(with reply: ChannelReply) {
        self.block.clear()
        self.block.append(":status", UInt64(clamping: reply.answer.status))
        if let seconds = reply.answer.retryAfter { self.block.append("retry-after", UInt64(clamping: seconds)) }
        if !reply.body.isEmpty { self.block.append("content-type", "application/json") }
        if let id = self.request[.requestID], id.count == APNSID.textLength {
            self.block.append("apns-request-id", id, .literal)
        } else {
            self.appendRandomID("apns-request-id")
        }
        if self.rules.script.hasUniqueID, self.channel?.validAction == .broadcast {
            self.appendRandomID("apns-unique-id")
        }
        guard let id = reply.channelID else { return }
        let text = Array(id.rawValue.utf8)
        self.block.append("apns-channel-id", upTo: text.count) { target in
            target.update(from: text, count: text.count)
            return text.count
        }
    }
}

extension APNsMachine.ChannelReply {
    /// A refusal.
    init(_ answer: APNsAnswer) {
        self.init(answer: answer, channelID: nil, body: answer.body)
    }
}
