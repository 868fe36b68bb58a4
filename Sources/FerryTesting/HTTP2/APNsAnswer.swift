package import FerryCore

/// The answer of APNs to a request, without `apns-id`.
package struct APNsAnswer: Hashable, Sendable {
    package var status: Int
    /// The reason of a refusal; nil on success.
    package var reason: Reason?
    /// The field `timestamp`, in milliseconds since the UNIX epoch. Only with status 410.
    package var timestamp: Int64?
    /// The field `retry-after`, in seconds.
    package var retryAfter: Int?

    package init(status: Int, reason: Reason? = nil, timestamp: Int64? = nil, retryAfter: Int? = nil) {
        self.status = status
        self.reason = reason
        self.timestamp = timestamp
        self.retryAfter = retryAfter
    }

    /// Creates a refusal with the status that Apple's table has for the reason.
    package init(_ reason: Reason) {
        self.init(status: Self.status(of: reason), reason: reason)
    }

    package static let accepted = APNsAnswer(status: 200)

    package var isAccepted: Bool { self.status == 200 }

    /// The JSON of the body; empty on success.
    package var body: [UInt8] {
        guard let reason = self.reason else { return [] }
        var bytes = Array(#"{"reason":"#.utf8)
        bytes.appendJSONString(reason.rawValue)
        if let timestamp = self.timestamp { bytes += Array(#","timestamp":\#(timestamp)"#.utf8) }
        bytes.append(UInt8(ascii: "}"))
        return bytes
    }

    /// Returns Apple's status for a reason; 400 if the reason is in no table.
    package static func status(of reason: Reason) -> Int {
        reason.row?.httpStatus ?? 400
    }

    /// Returns the most frequent reason of a status.
    ///
    /// - Parameter isAboutChannels: whether the request is about channels, and not a notification.
    package static func usualReason(of status: Int, isAboutChannels: Bool = false) -> Reason? {
        switch status {
        case 503 where isAboutChannels: .channelServiceUnavailable
        case 400...402 where isAboutChannels: .badRequestParams
        case 200: nil
        case 403: .invalidProviderToken
        case 404: .badPath
        case 405: .methodNotAllowed
        case 410: .unregistered
        case 413: .payloadTooLarge
        case 429: .tooManyRequests
        case 500: .internalServerError
        case 503: .serviceUnavailable
        default: .badDeviceToken
        }
    }
}
