package import FerryCore

/// One request for the management of an app's channels.
///
/// | operation | request | answer |
/// |---|---|---|
/// | create | `POST …/channels` with a body | 201, `apns-channel-id` |
/// | read | `GET …/channels`, `apns-channel-id` | 200, the two keys of the body |
/// | delete | `DELETE …/channels`, `apns-channel-id` | 204 |
/// | list | `GET …/all-channels` | 200, `{"channels": [ids]}` |
///
/// Source: "Sending channel management requests to APNs" (Apple).
package enum ChannelOperation: Hashable, Sendable {
    case create(MessageStoragePolicy)
    case read(ChannelID)
    case delete(ChannelID)
    case list

    /// The push type of every channel: broadcast is for Live Activities only.
    package static let pushType = "LiveActivity"

    var method: StaticString {
        switch self {
        case .create: "POST"
        case .read, .list: "GET"
        case .delete: "DELETE"
        }
    }

    /// The end of the path, after the bundle ID.
    var pathEnd: StaticString {
        switch self {
        case .create, .read, .delete: "/channels"
        case .list: "/all-channels"
        }
    }

    /// The value of `apns-channel-id`.
    var channelID: ChannelID? {
        switch self {
        case .read(let id), .delete(let id): id
        case .create, .list: nil
        }
    }

    var body: [UInt8] {
        guard case .create(let policy) = self else { return [] }
        return Array(#"{"message-storage-policy":\#(policy.rawValue),"push-type":"\#(Self.pushType)"}"#.utf8)
    }

    /// The status of a success.
    var success: HTTPStatus {
        switch self {
        case .create: .created
        case .read, .list: .ok
        case .delete: .noContent
        }
    }

    /// Whether the operation changes the channels. If so, its outcome matters even without an answer.
    var makesChange: Bool {
        switch self {
        case .create, .delete: true
        case .read, .list: false
        }
    }

    /// Whether a request that APNs did not process is written again. A creation is written once: a second channel would
    /// be worse than an error.
    var mayBeRepeated: Bool {
        if case .create = self { false } else { true }
    }
}

/// What a request has brought.
package enum ChannelResult: Hashable, Sendable {
    case created(ChannelID)
    case read(BroadcastChannel)
    case deleted
    case listed([ChannelID])
}

extension HTTPStatus {
    package static let created = HTTPStatus(rawValue: 201)
    package static let noContent = HTTPStatus(rawValue: 204)
}
