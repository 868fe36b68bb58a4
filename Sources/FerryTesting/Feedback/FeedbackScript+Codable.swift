internal import FerryCore

extension FeedbackScript: Codable {
    private enum CodingKeys: String, CodingKey, CaseIterable {
        case handshake, tuples, pieceLength, fault, times
    }

    /// - Throws: `DecodingError` for a key that does not exist, or a value out of its range.
    public init(from decoder: any Decoder) throws {
        try decoder.refuseKeys(except: CodingKeys.allCases)
        let container = try decoder.container(keyedBy: CodingKeys.self)
        try container.read(.handshake, into: &self.handshake)
        try container.read(.tuples, into: &self.tuples)
        self.pieceLength = try container.decodeIfPresent(Int.self, forKey: .pieceLength)
        self.fault = try container.decodeIfPresent(Fault.self, forKey: .fault)
        self.times = try container.decodeIfPresent(Int.self, forKey: .times)
        try container.require((self.pieceLength ?? 1) >= 1, .pieceLength, "must be at least 1")
        try container.require((self.times ?? 0) >= 0, .times, "must not be negative")
    }

    /// Writes every key that has a value.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(self.handshake, forKey: .handshake)
        try container.encode(self.tuples, forKey: .tuples)
        try container.encodeIfPresent(self.pieceLength, forKey: .pieceLength)
        try container.encodeIfPresent(self.fault, forKey: .fault)
        try container.encodeIfPresent(self.times, forKey: .times)
    }
}

extension FeedbackScript.Tuple: Codable {
    private enum CodingKeys: String, CodingKey, CaseIterable {
        case time, token
    }

    /// - Throws: `DecodingError` for a key that is missing or does not exist, or a value out of its range.
    public init(from decoder: any Decoder) throws {
        try decoder.refuseKeys(except: CodingKeys.allCases)
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let token = try container.hexadecimal(.token)
        try container.require(token != nil, .token, "is missing")
        try container.require(token?.count ?? 0 <= Int(UInt16.max), .token, "has more than 65535 bytes")
        self.init(time: try container.decode(UInt32.self, forKey: .time), token: token ?? [])
    }

    /// Writes both keys.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(self.time, forKey: .time)
        try container.encode(DeviceToken(unchecked: self.token).hex, forKey: .token)
    }
}
