/// A notification without a device: a JSON payload, and the fields that tell APNs how to treat it.
///
/// A value is valid as a whole: a notification that neither protocol could carry is refused when it is made. A
/// notification that only one protocol refuses (2,049 bytes on the binary protocol, a missing topic on HTTP/2) gets
/// that refusal as its outcome, because a migrating provider chooses the protocol later.
///
/// The description shows the topic and the payload's length only, because messages to people do not belong in logs.
public struct PushNotification: Hashable, Sendable, CustomStringConvertible {
    /// The largest payload that any protocol takes, 5120 bytes: VoIP and broadcast Live Activities over HTTP/2.
    public static let maximumPayloadLength = max(PayloadLimit.voip, PayloadLimit.broadcast)
    /// Apple's limit of `apns-collapse-id`.
    public static let maximumCollapseIDLength = 64
    /// The longest topic that fits into a batch entry. A bundle ID with the longest suffix stays far below it.
    public static let maximumTopicLength = 255

    /// A JSON object in UTF-8. It is sent byte for byte.
    public let payload: [UInt8]
    /// The bundle ID of the app, with the suffix of the push type. Nil: the `topic` of the
    /// ``HTTP2Configuration``, or else the certificate's topic. On the binary protocol it is always the certificate's.
    public let topic: String?
    /// The push type. Nil: HTTP/2 derives it if topic and payload decide it, and otherwise leaves the header out. The
    /// binary protocol has no push type.
    public let pushType: PushType?
    /// The urgency. If nil, HTTP/2 leaves the header out, and the binary protocol writes 10: ``Priority/immediate``.
    public let priority: Priority?
    /// The expiration. If it is nil, HTTP/2 leaves the header out, and APNs decides. The binary protocol writes 0,
    /// which is ``Expiration/once``.
    public let expiration: Expiration?
    /// Notifications with the same collapse id replace each other on the device. HTTP/2 only.
    public let collapseID: String?
    /// The identifier over HTTP/2. If it is nil, HTTP/2 makes one. The binary protocol has none.
    public let apnsID: APNSID?

    /// The topic and the payload's length, for logs: "notification for com.example.app with a payload of 26 bytes".
    public var description: String {
        let topic = self.topic.map { " for \($0)" } ?? ""
        return "notification\(topic) with a payload of \(self.payload.count) bytes"
    }

    /// Creates a notification from JSON, which is sent as it stands.
    ///
    /// - Parameters:
    ///   - payload: a JSON object in UTF-8, at most ``maximumPayloadLength`` bytes.
    ///   - topic: the bundle ID of the app, with the suffix of the push type: 1 to ``maximumTopicLength`` visible ASCII
    ///     characters. For nil see ``topic``.
    ///   - pushType: the push type. For nil see ``pushType``.
    ///   - priority: the urgency. For nil see ``priority``.
    ///   - expiration: the time until which APNs tries to deliver. For nil see ``expiration``.
    ///   - collapseID: 1 to ``maximumCollapseIDLength`` bytes of UTF-8 without control characters. Notifications with
    ///     the same value replace each other on the device. HTTP/2 only.
    ///   - apnsID: the identifier of the notification. Nil: HTTP/2 makes one. The binary protocol has no apns-id.
    /// - Throws: ``PushValidationError`` with every fault: ``PushValidationError/Code/emptyPayload``,
    ///   ``PushValidationError/Code/payloadTooLarge``, ``PushValidationError/Code/payloadNotJSON``,
    ///   ``PushValidationError/Code/badTopic``, ``PushValidationError/Code/badCollapseID``.
    /// - Complexity: O(n) in the length of the payload, all of which is checked.
    public init(
        json payload: some Sequence<UInt8>,
        topic: String? = nil,
        pushType: PushType? = nil,
        priority: Priority? = nil,
        expiration: Expiration? = nil,
        collapseID: String? = nil,
        apnsID: APNSID? = nil
    ) throws(PushValidationError) {
        let payload = Array(payload)
        try Self.check(payload, topic: topic, collapseID: collapseID)
        self.init(
            uncheckedPayload: payload,
            topic: topic,
            pushType: pushType,
            priority: priority,
            expiration: expiration,
            collapseID: collapseID,
            apnsID: apnsID
        )
    }

    /// Creates a notification from bytes that were checked before.
    package init(
        uncheckedPayload payload: [UInt8],
        topic: String?,
        pushType: PushType?,
        priority: Priority?,
        expiration: Expiration?,
        collapseID: String?,
        apnsID: APNSID?
    ) {
        self.payload = payload
        self.topic = topic
        self.pushType = pushType
        self.priority = priority
        self.expiration = expiration
        self.collapseID = collapseID
        self.apnsID = apnsID
    }

    /// Throws an error with `knownFaults` and every other fault, if there is any.
    static func check(
        _ payload: [UInt8],
        topic: String?,
        collapseID: String?,
        knownFaults: [PushValidationError.Fault] = []
    ) throws(PushValidationError) {
        let faults =
            knownFaults + payload.withUnsafeBufferPointer(Self.faults(payload:))
            + Self.faults(topic: topic) + Self.faults(collapseID: collapseID)
        guard faults.isEmpty else { throw PushValidationError(faults) }
    }

    package static func faults(payload: UnsafeBufferPointer<UInt8>) -> [PushValidationError.Fault] {
        if payload.isEmpty { return [.init(.emptyPayload, "the payload is empty")] }
        var faults: [PushValidationError.Fault] = []
        if payload.count > self.maximumPayloadLength {
            faults.append(
                .init(
                    .payloadTooLarge,
                    PayloadLimit.fault(length: payload.count, limit: self.maximumPayloadLength)
                )
            )
        }
        if let fault = JSONScanner.faultInObject(payload) {
            faults.append(.init(.payloadNotJSON, "the payload is not a JSON object: \(fault)"))
        }
        return faults
    }

    package static func faults(topic: String?) -> [PushValidationError.Fault] {
        guard let topic else { return [] }
        guard (1...self.maximumTopicLength).contains(topic.utf8.count), topic.utf8.allSatisfy({ 0x21...0x7e ~= $0 })
        else {
            return [.init(.badTopic, "the topic is not 1 to \(self.maximumTopicLength) visible ASCII characters")]
        }
        return []
    }

    package static func faults(collapseID: String?) -> [PushValidationError.Fault] {
        guard let collapseID else { return [] }
        var faults: [PushValidationError.Fault] = []
        if !(1...self.maximumCollapseIDLength).contains(collapseID.utf8.count) {
            let length = collapseID.utf8.count
            let limit = self.maximumCollapseIDLength
            faults.append(.init(.badCollapseID, "the collapse id has \(length) bytes; it must have 1 to \(limit)"))
        }
        if collapseID.utf8.contains(where: { $0 < 0x20 || $0 == 0x7f }) {
            faults.append(.init(.badCollapseID, "the collapse id holds a control character"))
        }
        return faults
    }

    /// Calls `body` with the bytes of payload, topic and collapse id, without a copy where possible.
    func withBytes<R>(
        _ body: (UnsafeBufferPointer<UInt8>, UnsafeBufferPointer<UInt8>, UnsafeBufferPointer<UInt8>) -> R
    ) -> R {
        self.payload.withUnsafeBufferPointer { payload in
            Self.withUTF8(of: self.topic) { topic in
                Self.withUTF8(of: self.collapseID) { collapseID in
                    body(payload, topic, collapseID)
                }
            }
        }
    }

    private static func withUTF8<R>(of string: String?, _ body: (UnsafeBufferPointer<UInt8>) -> R) -> R {
        guard var string else { return body(UnsafeBufferPointer(start: nil, count: 0)) }
        return string.withUTF8(body)
    }
}
