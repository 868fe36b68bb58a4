internal import CFerry
internal import FerryCore
internal import FerryPlatform

/// A reader for the records of one call. `ferry.h` documents their form.
struct RecordReader {
    /// One record. Its memory belongs to the caller, and is valid only during the call.
    struct Record {
        var tag: UInt64
        var expiration: UInt32
        var flags: UInt8
        var priority: UInt8
        var pushType: UInt8
        var token: UnsafeBufferPointer<UInt8>
        var payload: UnsafeBufferPointer<UInt8>
        var topic: UnsafeBufferPointer<UInt8>
        var collapseID: UnsafeBufferPointer<UInt8>
        /// The apns-id: 16 bytes, or empty.
        var apnsID: UnsafeBufferPointer<UInt8>
    }

    static let headerLength = Int(FERRY_RECORD_HEADER)
    private static let knownFlags = UInt8(FERRY_RECORD_EXPIRATION | FERRY_RECORD_APNS_ID)

    private let bytes: UnsafeBufferPointer<UInt8>
    /// The position of the next record.
    private(set) var position = 0

    init(_ bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

    /// Returns the number of records; nil if their framing is wrong.
    static func count(_ bytes: UnsafeBufferPointer<UInt8>) -> Int? {
        var reader = RecordReader(bytes)
        var count = 0
        while reader.position < bytes.count {
            guard reader.next() != nil else { return nil }
            count += 1
        }
        return count
    }

    /// Returns the next record; nil at the end, or if the framing is wrong.
    mutating func next() -> Record? {
        let left = self.bytes.count - self.position
        guard left >= Self.headerLength, let start = self.bytes.baseAddress else { return nil }
        let header = UnsafeRawPointer(start + self.position)
        let length = Int(UInt32(littleEndian: header.loadUnaligned(as: UInt32.self)))
        let flags = header.load(fromByteOffset: 16, as: UInt8.self)
        let counts = (
            token: Int(header.load(fromByteOffset: 19, as: UInt8.self)),
            payload: Int(UInt16(littleEndian: header.loadUnaligned(fromByteOffset: 20, as: UInt16.self))),
            topic: Int(header.load(fromByteOffset: 22, as: UInt8.self)),
            collapseID: Int(header.load(fromByteOffset: 23, as: UInt8.self)),
            apnsID: flags & UInt8(FERRY_RECORD_APNS_ID) == 0 ? 0 : 16
        )
        let needed =
            Self.headerLength + counts.token + counts.payload + counts.topic + counts.collapseID + counts.apnsID
        guard length == needed, length <= left, flags & ~Self.knownFlags == 0 else { return nil }
        var cursor = start + self.position + Self.headerLength
        func take(_ count: Int) -> UnsafeBufferPointer<UInt8> {
            defer { cursor += count }
            return UnsafeBufferPointer(start: cursor, count: count)
        }
        self.position += length
        return Record(
            tag: UInt64(littleEndian: header.loadUnaligned(fromByteOffset: 4, as: UInt64.self)),
            expiration: UInt32(littleEndian: header.loadUnaligned(fromByteOffset: 12, as: UInt32.self)),
            flags: flags,
            priority: header.load(fromByteOffset: 17, as: UInt8.self),
            pushType: header.load(fromByteOffset: 18, as: UInt8.self),
            token: take(counts.token),
            payload: take(counts.payload),
            topic: take(counts.topic),
            collapseID: take(counts.collapseID),
            apnsID: take(counts.apnsID)
        )
    }
}

extension RecordReader.Record {
    /// Returns the reason why every server would reject the notification; nil if a server may accept it.
    ///
    /// - Parameter goodPayload: a payload that was checked before and needs no second check.
    func fault(goodPayload: UnsafeBufferPointer<UInt8>) -> Reason? {
        if self.token.isEmpty { return .missingDeviceToken }
        if self.token.count > DeviceToken.maximumLength { return .invalidTokenSize }
        if !self.hasPayload(goodPayload), let fault = self.payloadFault { return fault }
        if !self.topic.allSatisfy({ 0x21...0x7e ~= $0 }) { return .badTopic }
        if self.collapseID.count > PushNotification.maximumCollapseIDLength { return .badCollapseID }
        if self.collapseID.contains(where: { $0 < 0x20 || $0 == 0x7f }) { return .badCollapseID }
        if self.priority != 0, Priority(rawValue: self.priority) == nil { return .badPriority }
        if self.pushType != 0, PushType(code: self.pushType) == nil { return .invalidPushType }
        return nil
    }

    private func hasPayload(_ other: UnsafeBufferPointer<UInt8>) -> Bool {
        guard self.payload.count == other.count, let mine = self.payload.baseAddress, let other = other.baseAddress
        else {
            return false
        }
        return mine == other || memcmp(mine, other, self.payload.count) == 0
    }

    private var payloadFault: Reason? {
        if self.payload.isEmpty { return .payloadEmpty }
        if self.payload.count > PushNotification.maximumPayloadLength { return .payloadTooLarge }
        return JSONScanner.faultInObject(self.payload) == nil ? nil : .badRequestPayload
    }

    /// Appends the notification to a batch, for the device `token`. Returns false if the batch is full.
    func append(to batch: inout PushBatch, token: UnsafeBufferPointer<UInt8>, tag: UInt64) -> Bool {
        let hasExpiration = self.flags & UInt8(FERRY_RECORD_EXPIRATION) != 0
        return batch.append(
            token: token,
            payload: self.payload,
            topic: self.topic,
            collapseID: self.collapseID,
            apnsID: self.apnsID.baseAddress.flatMap { self.apnsID.isEmpty ? nil : APNSID(reading: $0) },
            pushType: PushType(code: self.pushType),
            priority: Priority(rawValue: self.priority),
            expiration: hasExpiration ? Expiration(epochSeconds: self.expiration) : nil,
            tag: tag
        )
    }
}
