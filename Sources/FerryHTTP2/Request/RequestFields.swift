package import FerryCore
package import FerryMachine

/// A writer of requests' fields, one request after the other, into one ``HeaderBlock``.
///
/// It uses HPACK as Apple asks for it. `:path` and `authorization` are literals that no table keeps. The values of
/// `apns-id` and `apns-collapse-id` differ each time: once for each connection they go into the table, so that it has
/// their names, and then they are literals. All others are indexed. `apns-expiration` is treated like those two if its
/// value differs from the request before, and is indexed otherwise. Values that differ each time would push all others
/// out of the table. `apns-channel-id` and `apns-request-id` of broadcasts are literals, too, because broadcasts are
/// few.
package struct RequestFields: ~Copyable {
    /// The block of fields. The measurement of a bare request's cost uses it, too.
    package private(set) var block = HeaderBlock()
    package let check: RequestCheck
    private let authority: StableBytes
    private var authorization: StableBytes?
    private var lastExpiration: UInt32?
    private static let pathPrefix: StaticString = "/3/device/"
    private static let broadcastPrefix: StaticString = "/4/broadcasts/apps/"

    /// - Parameter authority: the value of `:authority`.
    package init(authority: String, check: RequestCheck) {
        self.authority = StableBytes(Array(authority.utf8))
        self.check = check
    }

    /// Sets the token that requests carry from now on; nil for no token.
    package mutating func authorize(_ token: ProviderToken?) {
        self.authorization = token.map { StableBytes($0.headerValue) }
    }

    /// Writes the fields for an entry whose bytes stand in `arena`. The block refers to those bytes.
    ///
    /// - Parameters:
    ///   - known: the names that earlier requests of the connection have put into the table.
    package mutating func write(
        _ entry: BatchEntry,
        in arena: UnsafePointer<UInt8>,
        apnsID: APNSID,
        known: IndexedNames
    ) {
        self.block.clear()
        self.block.append(":method", "POST")
        self.block.append(":scheme", "https")
        if entry.fields.isBroadcast { return self.writeBroadcast(entry, in: arena, requestID: apnsID, known: known) }
        let token = UnsafeBufferPointer(start: arena + Int(entry.offset), count: Int(entry.tokenLength))
        let prefix = Self.pathPrefix
        self.block.append(":path", upTo: prefix.utf8CodeUnitCount + token.count * 2) { target in
            target.update(from: prefix.utf8Start, count: prefix.utf8CodeUnitCount)
            Self.writeHex(token, to: target + prefix.utf8CodeUnitCount)
            return prefix.utf8CodeUnitCount + token.count * 2
        }
        self.block.append(":authority", self.authority.bytes)
        if let authorization { self.block.append("authorization", authorization.bytes, .literal) }

        let (pushType, priority) = self.check.typeAndPriority(of: entry, in: arena)
        let topicStart = arena + Int(entry.offset) + Int(entry.tokenLength) + Int(entry.payloadLength)
        let collapseID = topicStart + Int(entry.topicLength)
        let topic = UnsafeBufferPointer(start: topicStart, count: Int(entry.topicLength))
        if self.check.sendsDefaultTopic(for: topic, pushType: pushType) {
            self.appendDefaultTopic(pushType: pushType)
        } else {
            self.block.append("apns-topic", topic)
        }
        if let rules = self.check.table[pushType] { self.block.append("apns-push-type", rules.headerValue) }
        if priority > 0 { self.block.append("apns-priority", UInt64(priority)) }
        if entry.fields.hasExpiration { self.appendExpiration(entry.expiration, known: known) }
        if entry.collapseIDLength > 0 {
            let bytes = UnsafeBufferPointer(start: collapseID, count: Int(entry.collapseIDLength))
            self.block.append("apns-collapse-id", bytes, known.contains(.collapseID) ? .literal : .usual)
        }
        self.block.append("apns-id", upTo: APNSID.textLength, known.contains(.apnsID) ? .literal : .usual) { target in
            apnsID.writeText(to: UnsafeMutableBufferPointer(start: target, count: APNSID.textLength))
            return APNSID.textLength
        }
    }

    /// Writes the fields of a broadcast after the method and the scheme.
    ///
    /// Source: "Sending broadcast push notification requests to APNs" (Apple), which requires push type, expiration and
    /// priority.
    private mutating func writeBroadcast(
        _ entry: BatchEntry,
        in arena: UnsafePointer<UInt8>,
        requestID: APNSID,
        known: IndexedNames
    ) {
        let channel = arena + Int(entry.offset)
        let topic = channel + Int(entry.tokenLength) + Int(entry.payloadLength)
        if entry.topicLength > 0 {
            self.appendBroadcastPath(UnsafeBufferPointer(start: topic, count: Int(entry.topicLength)))
        } else {
            self.check.defaultTopic.withBytes(pushType: 0) { self.appendBroadcastPath($0) }
        }
        self.block.append(":authority", self.authority.bytes)
        if let authorization { self.block.append("authorization", authorization.bytes, .literal) }
        self.block.append(
            "apns-channel-id",
            UnsafeBufferPointer(start: channel, count: Int(entry.tokenLength)),
            .literal
        )
        self.block.append("apns-push-type", "liveactivity")
        self.block.append("apns-priority", UInt64(entry.priority > 0 ? entry.priority : Priority.immediate.rawValue))
        self.appendExpiration(entry.fields.hasExpiration ? entry.expiration : 0, known: known)
        self.block.append("apns-request-id", upTo: APNSID.textLength, .literal) { target in
            requestID.writeText(to: UnsafeMutableBufferPointer(start: target, count: APNSID.textLength))
            return APNSID.textLength
        }
    }

    private mutating func appendBroadcastPath(_ bundleID: UnsafeBufferPointer<UInt8>) {
        let prefix = Self.broadcastPrefix
        let count = prefix.utf8CodeUnitCount + bundleID.count
        self.block.append(":path", upTo: count) { target in
            target.update(from: prefix.utf8Start, count: prefix.utf8CodeUnitCount)
            if let base = bundleID.baseAddress {
                (target + prefix.utf8CodeUnitCount).update(from: base, count: bundleID.count)
            }
            return count
        }
    }

    private mutating func appendExpiration(_ expiration: UInt32, known: IndexedNames) {
        let isIndexed = !known.contains(.expiration) || expiration == self.lastExpiration
        self.block.append("apns-expiration", UInt64(expiration), isIndexed ? .usual : .literal)
        self.lastExpiration = expiration
    }

    private mutating func appendDefaultTopic(pushType: UInt8) {
        self.check.defaultTopic.withBytes(pushType: pushType) { bytes in
            guard let base = bytes.baseAddress, !bytes.isEmpty else { return }
            self.block.append("apns-topic", upTo: bytes.count) { target in
                target.update(from: base, count: bytes.count)
                return bytes.count
            }
        }
    }

    private static func writeHex(_ bytes: UnsafeBufferPointer<UInt8>, to target: UnsafeMutablePointer<UInt8>) {
        let digits: StaticString = "0123456789abcdef"
        for (index, byte) in bytes.enumerated() {
            target[2 * index] = digits.utf8Start[Int(byte >> 4)]
            target[2 * index + 1] = digits.utf8Start[Int(byte & 15)]
        }
    }
}

/// The fields whose values differ from request to request, and whose names are in a connection's table.
package struct IndexedNames: OptionSet, Sendable {
    package static let apnsID = IndexedNames(rawValue: 1)
    package static let collapseID = IndexedNames(rawValue: 2)
    package static let expiration = IndexedNames(rawValue: 4)

    package let rawValue: UInt8

    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The fields of this set that the request for an entry has.
    init(of entry: BatchEntry) {
        guard !entry.fields.isBroadcast else {
            self = .expiration
            return
        }
        self = .apnsID
        if entry.collapseIDLength > 0 { self.insert(.collapseID) }
        if entry.fields.hasExpiration { self.insert(.expiration) }
    }
}

/// Bytes at an address that does not change.
private final class StableBytes {
    let bytes: UnsafeBufferPointer<UInt8>

    init(_ bytes: [UInt8]) {
        let memory = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: max(bytes.count, 1))
        _ = memory.initialize(from: bytes)
        self.bytes = UnsafeBufferPointer(rebasing: UnsafeBufferPointer(memory)[0..<bytes.count])
    }

    deinit { self.bytes.deallocate() }
}
