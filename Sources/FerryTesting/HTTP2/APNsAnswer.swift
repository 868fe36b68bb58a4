package import FerryCore
internal import FerryHTTP2

/// What APNs says to a request, `apns-id` aside.
package struct APNsAnswer: Hashable, Sendable {
    package var status: Int
    /// Nil on success.
    package var reason: Reason?
    /// Milliseconds since the UNIX epoch; with 410 only.
    package var timestamp: Int64?
    /// Seconds, in the field `retry-after`.
    package var retryAfter: Int?

    package init(status: Int, reason: Reason? = nil, timestamp: Int64? = nil, retryAfter: Int? = nil) {
        self.status = status
        self.reason = reason
        self.timestamp = timestamp
        self.retryAfter = retryAfter
    }

    /// A refusal with the status that Apple's table has for the reason.
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

    /// Apple's status for a reason; 400 for one that is not in the table.
    package static func status(of reason: Reason) -> Int {
        ReasonRule.of(reason)?.status.rawValue ?? 400
    }

    /// The reason that most often stands with a status.
    package static func usualReason(of status: Int) -> Reason? {
        switch status {
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
