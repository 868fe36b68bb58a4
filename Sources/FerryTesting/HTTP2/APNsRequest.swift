package import FerryCore
internal import FerryHTTP2

/// The fields of a request, unchanged. One instance serves all requests of a connection, one after the other.
package struct APNsRequest: ~Copyable {
    /// The fields that APNs knows.
    package enum Field: Int, CaseIterable, Sendable {
        case method, path, authorization, topic, pushType, priority, expiration, id, collapseID, channelID, requestID
    }

    /// The most bytes of all values together: the limit of ``HTTP2Session`` for the fields of a request.
    private static let capacity = 16 << 10

    private let values: UnsafeMutablePointer<UInt8>
    private var valuesCount = 0
    private var ranges = InlineArray<11, Range<Int>?>(repeating: nil)
    private let tokenStart: UnsafeMutablePointer<UInt8>
    private var tokenCount = 0
    /// True if a field that APNs knows arrived twice.
    package private(set) var hasDuplicates = false

    package init() {
        self.values = .allocate(capacity: Self.capacity)
        self.tokenStart = .allocate(capacity: DeviceToken.maximumLength)
    }

    deinit {
        self.values.deallocate()
        self.tokenStart.deallocate()
    }

    package mutating func clear() {
        self.valuesCount = 0
        self.ranges = InlineArray(repeating: nil)
        self.tokenCount = 0
        self.hasDuplicates = false
    }

    /// Copies a field, if APNs knows it. Bytes beyond the limit of all fields are dropped.
    package mutating func add(_ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>) {
        guard let field = Field(name: name) else { return }
        guard self.ranges[field.rawValue] == nil else {
            self.hasDuplicates = true
            return
        }
        guard value.count <= Self.capacity - self.valuesCount else { return }
        if let start = value.baseAddress { (self.values + self.valuesCount).update(from: start, count: value.count) }
        self.ranges[field.rawValue] = self.valuesCount..<self.valuesCount + value.count
        self.valuesCount += value.count
    }

    /// The value of a field, valid until the next ``clear()``; nil if the request does not have the field.
    package subscript(field: Field) -> UnsafeBufferPointer<UInt8>? {
        guard let range = self.ranges[field.rawValue] else { return nil }
        return UnsafeBufferPointer(start: self.values + range.lowerBound, count: range.count)
    }

    /// The token that ``decodeToken()`` read, valid until the next ``clear()``.
    package var token: UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(start: self.tokenStart, count: self.tokenCount)
    }

    /// Reads the token in the path. Returns nil on success, otherwise the reason for a refusal.
    package mutating func decodeToken() -> Reason? {
        let prefix: StaticString = "/3/device/"
        guard let path = self[.path] else { return .badPath }
        let start = UnsafeBufferPointer(rebasing: path.prefix(prefix.utf8CodeUnitCount))
        guard start.equals(prefix) else { return path.equals("/3/device") ? .missingDeviceToken : .badPath }
        let digits = UnsafeBufferPointer(rebasing: path[start.count...])
        if digits.isEmpty { return .missingDeviceToken }
        let target = UnsafeMutableBufferPointer(start: self.tokenStart, count: DeviceToken.maximumLength)
        guard DeviceToken.decode(hex: digits, into: target) else { return .badDeviceToken }
        self.tokenCount = digits.count / 2
        return nil
    }

    /// Returns the value of a field as text, with invalid UTF-8 repaired. Slow: it allocates.
    package func text(_ field: Field) -> String? {
        self[field].map { String(decoding: $0, as: UTF8.self) }
    }
}

extension APNsRequest.Field {
    /// Creates the field with this name, which must be in lower case.
    fileprivate init?(name: UnsafeBufferPointer<UInt8>) {
        switch name.count {
        case 5 where name.equals(":path"): self = .path
        case 7 where name.equals(":method"): self = .method
        case 7 where name.equals("apns-id"): self = .id
        case 10 where name.equals("apns-topic"): self = .topic
        case 13 where name.equals("authorization"): self = .authorization
        case 13 where name.equals("apns-priority"): self = .priority
        case 14 where name.equals("apns-push-type"): self = .pushType
        case 15 where name.equals("apns-expiration"): self = .expiration
        case 15 where name.equals("apns-channel-id"): self = .channelID
        case 15 where name.equals("apns-request-id"): self = .requestID
        case 16 where name.equals("apns-collapse-id"): self = .collapseID
        default: return nil
        }
    }
}
