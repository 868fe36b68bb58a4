package import FerryCore
internal import FerryPlatform

/// APNs' answer to one request: the fields of its response, and the content of its body.
///
/// Source: "Handling notification responses from APNs" (Apple).
package struct PushAnswer: Hashable, Sendable {
    package var status: HTTPStatus
    /// `apns-id`, or the `apns-request-id` of a broadcast, from the request or made by APNs; nil when it was missing or no
    /// UUID.
    package var apnsID: APNSID?
    /// `apns-unique-id`: the notification's name in the delivery log of the development environment.
    package var uniqueID: String?
    /// The reason in the body, even if Ferry does not know it; nil when the body named none.
    package var reason: Reason?
    /// When APNs found that the device token is no longer valid, in milliseconds since the UNIX epoch. Only with status
    /// 410.
    package var timestamp: Int64?
    /// `retry-after` of a refusal, in seconds (RFC 9110 section 10.2.3); nil when it was missing or a date.
    package var retryAfter: UInt32?

    /// Whether APNs took the notification. Only status 200 says so.
    package var isAccepted: Bool { self.status == .ok }

    /// The answer as a refusal; nil when APNs took the notification.
    ///
    /// If the body named no reason, the reason is ``Reason/unknown``, "the peer gave no reason", and the status stands
    /// beside it. The status never becomes a reason: a server that answers 404 or 405 without APNs' JSON may not be
    /// APNs.
    package var rejection: Rejection? {
        guard !self.isAccepted else { return nil }
        return Rejection(
            reason: self.reason ?? .unknown,
            origin: .apns,
            status: self.status.rawValue,
            timestamp: self.timestamp.map { Date(unixMilliseconds: $0) }
        )
    }
}

/// A decoder that makes a ``PushAnswer`` from the fields of a response and then its whole body.
///
/// No input is an error: every input leads to an answer or to nil. If a field is repeated, the last one counts.
///
/// Cost: no heap memory for an acceptance without `apns-unique-id`. To settle many notifications, read ``isAccepted``
/// and ``apnsID``, and make an answer only for the others.
package struct AnswerDecoder: Sendable {
    /// Nil until the field arrived.
    package private(set) var status: HTTPStatus?
    /// Nil until the field arrived, and when it was no UUID.
    package private(set) var apnsID: APNSID?
    private var uniqueID: String?
    private var retryAfter: UInt32?

    /// The limit for the value. Apple's value is a UUID of 36 characters; a longer value than this is left out.
    package static let maximumUniqueIDLength = 128

    package init() {}

    /// Takes one field. The bytes are read during the call; names are in lower case, as in HTTP/2.
    package mutating func field(_ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>) {
        if name.equals(":status") {
            self.status = HTTPStatus(digits: value)
        } else if name.equals("apns-id") {
            self.apnsID = APNSID(text: value)
        } else if name.equals("apns-unique-id") {
            let isUsable = 1...Self.maximumUniqueIDLength ~= value.count && value.allSatisfy { 0x21...0x7e ~= $0 }
            self.uniqueID = isUsable ? String(decoding: value, as: UTF8.self) : nil
        } else if name.equals("apns-request-id") {
            if self.apnsID == nil { self.apnsID = APNSID(text: value) }
        } else if name.equals("retry-after") {
            self.retryAfter = UInt32(String(decoding: value.prefix(11), as: UTF8.self))
        }
    }

    /// Whether the fields so far say that APNs took the notification.
    package var isAccepted: Bool { self.status == .ok }

    /// Returns the answer; nil when no status arrived, so that there is no HTTP response.
    ///
    /// - Parameter body: the whole body, read during the call. It is ignored for an acceptance.
    package func answer(body: UnsafeBufferPointer<UInt8>) -> PushAnswer? {
        guard let status = self.status else { return nil }
        guard status != .ok else { return PushAnswer(status: status, apnsID: self.apnsID, uniqueID: self.uniqueID) }
        let told = AnswerBody(body)
        return PushAnswer(
            status: status,
            apnsID: self.apnsID,
            uniqueID: self.uniqueID,
            reason: told.reason,
            timestamp: status == .gone ? told.timestamp : nil,
            retryAfter: self.retryAfter
        )
    }
}
