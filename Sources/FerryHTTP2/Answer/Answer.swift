package import FerryCore

/// What APNs said to one request: the fields of its response, and what the body told.
///
/// Source: "Handling notification responses from APNs" (Apple).
package struct Answer: Hashable, Sendable {
    package var status: HTTPStatus
    /// `apns-id`, echoed or made by APNs; nil when there was none, or when it was no UUID.
    package var apnsID: APNSID?
    /// `apns-unique-id`: what the delivery log of the development environment knows the notification by.
    package var uniqueID: String?
    /// The word of the body, also when Ferry does not know it; nil when the body named none.
    package var reason: Reason?
    /// Since when APNs knows the device token to be dead, in milliseconds since the UNIX epoch. Only with status 410.
    package var timestamp: Int64?
    /// `retry-after` of a refusal, in seconds (RFC 9110 section 10.2.3); nil when there was none, or when it was a date.
    package var retryAfter: UInt32?

    package init(
        status: HTTPStatus,
        apnsID: APNSID? = nil,
        uniqueID: String? = nil,
        reason: Reason? = nil,
        timestamp: Int64? = nil,
        retryAfter: UInt32? = nil
    ) {
        self.status = status
        self.apnsID = apnsID
        self.uniqueID = uniqueID
        self.reason = reason
        self.timestamp = timestamp
        self.retryAfter = retryAfter
    }

    /// Whether APNs took the notification. Nothing but status 200 says so.
    package var isAccepted: Bool { self.status == .ok }

    /// The refusal that the answer is; nil when it is none.
    ///
    /// Where the body named no reason, it is ``Reason/unknown``, "the peer gave no reason", and the status stands beside
    /// it. No reason is made up from the status: what answers 404 or 405 without APNs' JSON may not be APNs at all.
    package var rejection: Rejection? {
        guard !self.isAccepted else { return nil }
        return Rejection(
            reason: self.reason ?? .unknown,
            origin: .apns,
            status: self.status.rawValue,
            timestamp: self.timestamp
        )
    }
}

/// Puts an ``Answer`` together from the fields of a response and then its whole body.
///
/// Whatever comes leads to an answer or to none; no input is an error. A field that is repeated counts as it came last.
///
/// Cost: none of the heap for an acceptance without `apns-unique-id`. Who settles many asks ``isAccepted`` and takes
/// ``apnsID``, and makes an answer of the others only.
package struct AnswerDecoder: Sendable {
    /// Nil until it came.
    package private(set) var status: HTTPStatus?
    /// Nil until it came, and when it was no UUID.
    package private(set) var apnsID: APNSID?
    private var uniqueID: String?
    private var retryAfter: UInt32?

    /// Apple's value is a UUID of 36 characters. What is longer than this is left out.
    package static let maximumUniqueIDLength = 128

    package init() {}

    /// Takes one field. The bytes are read during the call; names are in lower case, as HTTP/2 has them.
    package mutating func field(_ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>) {
        if name.equals(":status") {
            self.status = HTTPStatus(digits: value)
        } else if name.equals("apns-id") {
            self.apnsID = APNSID(text: value)
        } else if name.equals("apns-unique-id") {
            let isUsable = 1...Self.maximumUniqueIDLength ~= value.count && value.allSatisfy { 0x21...0x7e ~= $0 }
            self.uniqueID = isUsable ? String(decoding: value, as: UTF8.self) : nil
        } else if name.equals("retry-after") {
            self.retryAfter = UInt32(String(decoding: value.prefix(11), as: UTF8.self))
        }
    }

    /// Whether the fields so far say that APNs took the notification.
    package var isAccepted: Bool { self.status == .ok }

    /// The answer; nil when no status came, which is then no HTTP response at all.
    ///
    /// - Parameter body: all of it, read during the call. Of an acceptance it is not looked at.
    package func answer(body: UnsafeBufferPointer<UInt8>) -> Answer? {
        guard let status = self.status else { return nil }
        guard status != .ok else { return Answer(status: status, apnsID: self.apnsID, uniqueID: self.uniqueID) }
        let told = AnswerBody(body)
        return Answer(
            status: status,
            apnsID: self.apnsID,
            uniqueID: self.uniqueID,
            reason: told.reason,
            timestamp: status == .gone ? told.timestamp : nil,
            retryAfter: self.retryAfter
        )
    }
}
