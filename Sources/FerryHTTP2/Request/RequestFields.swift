package import FerryCore
package import FerryMachine

/// Writes the fields of requests, one after the other, into one ``HeaderBlock``.
///
/// HPACK as Apple asks for it: `:path` and `authorization` as literals that no table keeps; `apns-id` and
/// `apns-collapse-id`, which differ each time, into the table once for each connection, so that their names are known,
/// and from then on as literals; all others indexed. `apns-expiration` is treated as one or the other, by whether it is
/// the same as in the request before: values that differ each time would push all others out of the table.
package struct RequestFields: ~Copyable {
    /// What a bare request costs is measured with the same block.
    package private(set) var block = HeaderBlock()
    package let check: RequestCheck
    private let authority: StableBytes
    private var authorization: StableBytes?
    private var lastExpiration: UInt32?
    private static let pathPrefix: StaticString = "/3/device/"

    /// - Parameter authority: the value of `:authority`.
    package init(authority: String, check: RequestCheck) {
        self.authority = StableBytes(Array(authority.utf8))
        self.check = check
    }

    /// The token that requests carry from now on; nil: none.
    package mutating func authorize(_ token: ProviderToken?) {
        self.authorization = token.map { StableBytes($0.headerValue) }
    }

    /// Writes the fields for an entry whose bytes stand in `arena`. They refer to it.
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
        let topic = arena + Int(entry.offset) + Int(entry.tokenLength) + Int(entry.payloadLength)
        let collapseID = topic + Int(entry.topicLength)
        if entry.topicLength > 0 {
            self.block.append("apns-topic", UnsafeBufferPointer(start: topic, count: Int(entry.topicLength)))
        } else {
            self.appendDefaultTopic(pushType: pushType)
        }
        if let rules = self.check.table[pushType] { self.block.append("apns-push-type", rules.headerValue) }
        if priority > 0 { self.block.append("apns-priority", UInt64(priority)) }
        if entry.fields.hasExpiration {
            let isIndexed = !known.contains(.expiration) || entry.expiration == self.lastExpiration
            self.block.append("apns-expiration", UInt64(entry.expiration), isIndexed ? .usual : .literal)
            self.lastExpiration = entry.expiration
        }
        if entry.collapseIDLength > 0 {
            let bytes = UnsafeBufferPointer(start: collapseID, count: Int(entry.collapseIDLength))
            self.block.append("apns-collapse-id", bytes, known.contains(.collapseID) ? .literal : .usual)
        }
        self.block.append("apns-id", upTo: APNSID.textLength, known.contains(.apnsID) ? .literal : .usual) { target in
            apnsID.writeText(to: UnsafeMutableBufferPointer(start: target, count: APNSID.textLength))
            return APNSID.textLength
        }
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

/// Fields whose values differ from request to request, and whose names the table of a connection has.
package struct IndexedNames: OptionSet, Sendable {
    package static let apnsID = IndexedNames(rawValue: 1)
    package static let collapseID = IndexedNames(rawValue: 2)
    package static let expiration = IndexedNames(rawValue: 4)

    package let rawValue: UInt8

    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Those that the request for an entry has.
    init(of entry: BatchEntry) {
        self = .apnsID
        if entry.collapseIDLength > 0 { self.insert(.collapseID) }
        if entry.fields.hasExpiration { self.insert(.expiration) }
    }
}

/// Bytes at an address that stays.
private final class StableBytes {
    let bytes: UnsafeBufferPointer<UInt8>

    init(_ bytes: [UInt8]) {
        let memory = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: max(bytes.count, 1))
        _ = memory.initialize(from: bytes)
        self.bytes = UnsafeBufferPointer(rebasing: UnsafeBufferPointer(memory)[0..<bytes.count])
    }

    deinit { self.bytes.deallocate() }
}
