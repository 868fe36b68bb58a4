package import FerryCore
internal import FerryHTTP2

/// A request about channels: the app of its path, and what it asks for.
///
/// Sources: "Sending channel management requests to APNs" and "Sending broadcast push notification requests to APNs" (Apple).
package struct APNsChannelRequest: Hashable, Sendable {
    package var bundleID: String
    /// What the request asks for; or the reason to refuse it because of its path or method.
    package var action: Action

    package enum Action: Hashable, Sendable {
        case valid(HTTP2Rule.ChannelAction)
        case refused(Reason)
    }

    /// The path of a broadcast, before the bundle ID.
    private static let broadcasts: StaticString = "/4/broadcasts/apps/"

    /// Nil for a request that is not about channels: its path begins neither with `/1/apps/` nor with
    /// `/4/broadcasts/apps/`.
    package init?(_ request: borrowing APNsRequest) {
        guard let path = request[.path] else { return nil }
        let start = Self.broadcasts
        if UnsafeBufferPointer(rebasing: path.prefix(start.utf8CodeUnitCount)).equals(start) {
            let bundleID = String(decoding: path[start.utf8CodeUnitCount...], as: UTF8.self)
            let isPath = ChannelRequestFields.isBundleID(bundleID)
            let isPost = request[.method]?.equals("POST") == true
            let action: Action = isPath ? isPost ? .valid(.broadcast) : .refused(.methodNotAllowed) : .refused(.badPath)
            self.init(bundleID: bundleID, action: action)
        } else {
            self.init(managing: path, method: request.text(.method) ?? "")
        }
    }

    private init?(managing path: UnsafeBufferPointer<UInt8>, method: String) {
        let start = ChannelRequestFields.pathStart
        guard UnsafeBufferPointer(rebasing: path.prefix(start.utf8CodeUnitCount)).equals(start) else { return nil }
        let parts = path[start.utf8CodeUnitCount...].split(
            separator: UInt8(ascii: "/"),
            omittingEmptySubsequences: false
        )
        let bundleID = parts.first.map { String(decoding: $0, as: UTF8.self) } ?? ""
        guard parts.count == 2, ChannelRequestFields.isBundleID(bundleID) else {
            self.init(bundleID: bundleID, action: .refused(.badPath))
            return
        }
        let action: Action =
            switch (String(decoding: parts[1], as: UTF8.self), method) {
            case ("channels", "POST"): .valid(.create)
            case ("channels", "GET"): .valid(.read)
            case ("channels", "DELETE"): .valid(.delete)
            case ("all-channels", "GET"): .valid(.list)
            case ("channels", _), ("all-channels", _): .refused(.methodNotAllowed)
            default: .refused(.badPath)
            }
        self.init(bundleID: bundleID, action: action)
    }

    private init(bundleID: String, action: Action) {
        self.bundleID = bundleID
        self.action = action
    }

    /// What a valid request asks for.
    package var validAction: HTTP2Rule.ChannelAction? {
        if case .valid(let action) = self.action { action } else { nil }
    }
}

/// The body of a creation.
struct ChannelBody {
    var policy: MessageStoragePolicy

    /// "message-storage-policy": 0 or 1.
    private static let policies: Set<Int64> = [0, 1]

    init(_ text: UnsafeBufferPointer<UInt8>, isTruncated: Bool) throws(ChannelFault) {
        guard !text.isEmpty else { throw ChannelFault(.payloadEmpty) }
        guard !isTruncated, text.count <= PayloadLimit.http2 else { throw ChannelFault(.payloadTooLarge) }
        var (policy, pushType): (JSONValue?, JSONValue?)
        do throws(JSONFault) {
            var members = JSONMembers(text)
            while let member = try members.next() {
                if member.key.equals("message-storage-policy", in: text) { policy = member.value }
                if member.key.equals("push-type", in: text) { pushType = member.value }
            }
        } catch {
            throw ChannelFault(.badRequestPayload)
        }
        guard let pushType else { throw ChannelFault(.missingPushType) }
        guard pushType.text?.equals("LiveActivity", in: text) == true else { throw ChannelFault(.invalidPushType) }
        guard let number = policy?.integer(in: text), Self.policies.contains(number) else {
            throw ChannelFault(.badRequestParams)
        }
        self.policy = MessageStoragePolicy(rawValue: Int(number))
    }
}

/// The reason to refuse a request about channels.
struct ChannelFault: Error {
    var reason: Reason

    init(_ reason: Reason) { self.reason = reason }
}
