package import FerryCore
internal import NIOCore

/// A notification that was given up (a dead letter), or that may have arrived. The gateway does not send such a
/// notification again by itself. The letter has everything that an operator needs to send the notification again.
///
/// A letter is a row of ``StoreTable/letters``. The key is the `apns-id` (16 bytes), which ends with the number of
/// the job. The value is big-endian; the numbers are sizes in bytes:
///
/// ```
///   version 1, ended at 4, read at 4, expiration 4, priority 1, may have arrived 1, attempts 2,
///   length 1, client, length 1, address, length 2, topic, length 2, reason, length 1, token, length 2, payload
/// ```
package struct Letter: Hashable, Sendable {
    private static let version: UInt8 = 1
    /// The longest text of topic and reason in bytes. APNs' reasons have fewer than 30.
    private static let textLimit = 300

    package var apnsID: APNSID
    /// The name of the client in the store; see ``ClientIdentity/storeName``.
    package var client: String
    /// The address of the client's scope: 4 bytes, or 16 bytes with the first 64 bits of an IPv6 address. Empty if the
    /// address is not known.
    package var address: [UInt8]
    package var topic: String
    package var reason: Reason
    /// When the notification became a letter, in UNIX seconds.
    package var endedAt: UInt32
    /// When the notification was read, or last sent again by an operator, in UNIX seconds.
    package var readAt: UInt32
    /// The expiration in UNIX seconds; 0 for one attempt at delivery.
    package var expiration: UInt32
    /// The priority; 0 if the notification has none.
    package var priority: UInt8
    /// Whether the notification may have arrived. If the letter is sent again, the notification may arrive twice.
    package var mayHaveArrived: Bool
    /// The number of times that the notification was sent since the start of the process that made the letter, or
    /// since an operator last sent the notification again.
    package var attempts: UInt16
    package var token: [UInt8]
    package var payload: [UInt8]

    // MARK: Rows

    /// The key of the row of this notification.
    package static func key(of apnsID: APNSID) -> [UInt8] {
        // The text of a UUID has 32 digits and 4 hyphens.
        [UInt8](hexadecimal: apnsID.description.utf8.filter { $0 != UInt8(ascii: "-") }) ?? []
    }

    var change: StoreChange {
        var value = ByteBuffer()
        value.writeMultipleIntegers(Self.version, self.endedAt, self.readAt, self.expiration, self.priority)
        value.writeMultipleIntegers(UInt8(self.mayHaveArrived ? 1 : 0), self.attempts)
        value.write(Array(self.client.utf8.prefix(255)), lengthAs: UInt8.self)
        value.write(self.address, lengthAs: UInt8.self)
        value.write(Array(self.topic.utf8.prefix(Self.textLimit)), lengthAs: UInt16.self)
        value.write(Array(self.reason.rawValue.utf8.prefix(Self.textLimit)), lengthAs: UInt16.self)
        value.write(self.token, lengthAs: UInt8.self)
        value.write(self.payload, lengthAs: UInt16.self)
        return StoreChange(.letters, key: Self.key(of: self.apnsID), value: Array(buffer: value))
    }

    /// Returns nil if the row has another form, for example because it is damaged.
    package init?(_ row: StoreRow) {
        var value = ByteBuffer(bytes: row.value)
        guard let apnsID = Self.apnsID(ofKey: row.key), value.readInteger(as: UInt8.self) == Self.version,
            let (endedAt, readAt, expiration, priority, doubt, attempts) = value.readMultipleIntegers(
                as: (UInt32, UInt32, UInt32, UInt8, UInt8, UInt16).self
            ),
            let client = value.readBytes(lengthAs: UInt8.self), let address = value.readBytes(lengthAs: UInt8.self),
            let topic = value.readBytes(lengthAs: UInt16.self), let reason = value.readBytes(lengthAs: UInt16.self),
            let token = value.readBytes(lengthAs: UInt8.self), let payload = value.readBytes(lengthAs: UInt16.self)
        else { return nil }
        self.apnsID = apnsID
        self.client = String(decoding: client, as: UTF8.self)
        self.address = address
        self.topic = String(decoding: topic, as: UTF8.self)
        self.reason = Reason(rawValue: String(decoding: reason, as: UTF8.self))
        self.endedAt = endedAt
        self.readAt = readAt
        self.expiration = expiration
        self.priority = priority
        self.mayHaveArrived = doubt == 1
        self.attempts = attempts
        self.token = token
        self.payload = payload
    }

    /// The `apns-id` of a key of ``StoreTable/letters``.
    private static func apnsID(ofKey key: [UInt8]) -> APNSID? {
        guard key.count == 16 else { return nil }
        let digits = Array(key.hexadecimal.utf8)
        let groups = [digits[..<8], digits[8..<12], digits[12..<16], digits[16..<20], digits[20...]]
        return APNSID.parse(Array(groups.joined(separator: CollectionOfOne(UInt8(ascii: "-")))))
    }

    /// The number of the job in a key. A letter that is sent again keeps the number and the `apns-id`.
    static func job(ofKey key: [UInt8]) -> JobID {
        let low = key.suffix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        // The first two bits are the variant of the UUID (RFC 9562, section 4.1).
        return JobID(rawValue: low & 0x3fff_ffff_ffff_ffff)
    }
}

extension Letter {
    /// Makes the letter of a job that has ended.
    init(
        _ job: borrowing Job,
        _ apnsID: APNSID,
        client: String,
        topic: String,
        reason: Reason,
        mayHaveArrived: Bool,
        now: UInt32
    ) {
        self.apnsID = apnsID
        self.client = client
        self.address = job.scope.addressBytes
        self.topic = topic
        self.reason = reason
        self.endedAt = now
        self.readAt = job.readAtSeconds
        self.expiration = job.expiration
        self.priority = job.priority
        self.mayHaveArrived = mayHaveArrived
        self.attempts = UInt16(clamping: job.attempts)
        self.token = Array(job.token)
        self.payload = Array(job.bytes[job.tokenLength...])
    }
}

extension ByteBuffer {
    fileprivate mutating func write<Length: FixedWidthInteger>(_ bytes: [UInt8], lengthAs: Length.Type) {
        self.writeInteger(Length(bytes.count))
        self.writeBytes(bytes)
    }

    fileprivate mutating func readBytes<Length: FixedWidthInteger>(lengthAs: Length.Type) -> [UInt8]? {
        self.readInteger(as: Length.self).flatMap { self.readBytes(length: Int($0)) }
    }
}
