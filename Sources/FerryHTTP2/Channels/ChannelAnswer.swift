internal import FerryCore

/// APNs' answer to one request about channels.
struct ChannelAnswer {
    enum Content {
        case success(ChannelResult)
        /// APNs refused the request. Without a reason in the body, the reason is ``Reason/unknown``.
        case refusal(Reason)
        /// The answer is not one that APNs gives.
        case invalid
        /// The connection or the stream ended within the answer, and what came does not suffice.
        case incomplete
        /// The body is longer than the limit, and the rest of it was dropped.
        case tooLong
    }

    var status: HTTPStatus
    /// `apns-request-id`: the request's name at APNs.
    var requestID: APNSID?
    var content: Content

    /// The longest body that is read, except that of a list.
    static let maximumBodyLength = AnswerBody.maximumLength
}

extension ChannelAnswer {
    /// Decodes the content of an answer from its fields and its body.
    ///
    /// The fields of a creation and of a deletion suffice: a connection that is lost after them cannot take the channel's
    /// identifier away. A list and a channel need their whole body.
    ///
    /// - Parameter answer: what an answer about channels has in common with one to a notification.
    init(
        _ answer: PushAnswer,
        to operation: ChannelOperation,
        _ session: borrowing HTTP2Session,
        _ stream: HTTP2Session.Stream
    ) {
        self.status = answer.status
        self.requestID = answer.apnsID
        guard answer.status == operation.success else {
            let isFailure = 400...599 ~= answer.status.rawValue
            self.content = isFailure ? .refusal(answer.reason ?? .unknown) : .invalid
            return
        }
        let isTooLong = session.isBodyTruncated(stream)
        switch operation {
        case .create:
            var channelID: ChannelID?
            session.forEachField(of: stream) { name, value in
                if name.equals("apns-channel-id") { channelID = ChannelID(value) }
            }
            self.content = channelID.map { .success(.created($0)) } ?? .invalid
        case .delete: self.content = .success(.deleted)
        case .read, .list:
            guard session.isEnded(stream), !isTooLong else {
                self.content = isTooLong ? .tooLong : .incomplete
                return
            }
            self.content = session.withBody(of: stream) { body in
                if case .read(let id) = operation { Self.channel(id, body) } else { Self.list(body) }
            }
        }
    }

    /// Reads `{"message-storage-policy": 1, "push-type": "LiveActivity"}`.
    private static func channel(_ id: ChannelID, _ text: UnsafeBufferPointer<UInt8>) -> Content {
        guard text.count <= self.maximumBodyLength else { return .invalid }
        var (policy, pushType): (Int?, String?)
        do throws(JSONFault) {
            var members = JSONMembers(text)
            while let member = try members.next() {
                if member.key.equals("message-storage-policy", in: text) {
                    policy = member.value.integer(in: text).flatMap { Int(exactly: $0) }
                } else if member.key.equals("push-type", in: text) {
                    pushType = try member.value.text?.decoded(in: text)
                }
            }
        } catch {
            return .invalid
        }
        guard let policy, let pushType else { return .invalid }
        return .success(
            .read(BroadcastChannel(id: id, storagePolicy: MessageStoragePolicy(rawValue: policy), pushType: pushType))
        )
    }

    /// Reads `{"channels": ["…", "…"]}`. One identifier that is none makes the whole list invalid: a list must not look
    /// shorter than it is.
    private static func list(_ text: UnsafeBufferPointer<UInt8>) -> Content {
        var list: [ChannelID]?
        do throws(JSONFault) {
            var members = JSONMembers(text)
            while let member = try members.next() {
                guard member.key.equals("channels", in: text) else { continue }
                guard member.value.kind == .array, let ids = try self.ids(member.value.bytes(in: text)) else {
                    return .invalid
                }
                list = ids
            }
        } catch {
            return .invalid
        }
        return list.map { .success(.listed($0)) } ?? .invalid
    }

    /// Returns the strings of an array that was checked; nil if one is no identifier.
    private static func ids(_ array: UnsafeBufferPointer<UInt8>) throws(JSONFault) -> [ChannelID]? {
        var ids: [ChannelID] = []
        var scanner = JSONScanner(array)
        guard scanner.skip(UInt8(ascii: "[")) else { return nil }
        scanner.skipWhitespace()
        if scanner.skip(UInt8(ascii: "]")) { return ids }
        repeat {
            scanner.skipWhitespace()
            guard let id = ChannelID(try scanner.skipValue().text?.decodedBytes(in: array) ?? []) else { return nil }
            ids.append(id)
            scanner.skipWhitespace()
        } while scanner.skip(UInt8(ascii: ","))
        return ids
    }
}
