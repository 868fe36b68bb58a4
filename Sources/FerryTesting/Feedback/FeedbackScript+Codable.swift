internal import FerryCore
internal import FerryPlatform

extension FeedbackScript: Codable {
    private enum CodingKeys: String, CodingKey, CaseIterable {
        case handshake, tuples, pieceLength, fault, times
    }

    /// - Throws: `DecodingError` for an unknown key, or a value out of its range.
    public init(from decoder: any Decoder) throws {
        try decoder.refuseKeys(except: CodingKeys.allCases)
        let container = try decoder.container(keyedBy: CodingKeys.self)
        try container.choice(.handshake, into: &self.handshake)
        try container.read(.tuples, into: &self.tuples)
        self.pieceLength = try container.number(.pieceLength, in: 1 ... .max)
        self.fault = try container.choice(.fault)
        self.times = try container.number(.times, in: 0 ... .max)
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

    /// - Throws: `DecodingError` for a missing or unknown key, or a value out of its range.
    public init(from decoder: any Decoder) throws {
        try decoder.refuseKeys(except: CodingKeys.allCases)
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let token = try container.hexadecimal(.token)
        try container.require(token != nil, .token, "is missing")
        try container.require(token?.count ?? 0 <= Int(UInt16.max), .token, "has more than 65535 bytes")
        let time: UInt32? = try container.number(.time)
        try container.require(time != nil, .time, "is missing")
        self.init(time: Date(timeIntervalSince1970: Double(time ?? 0)), token: token ?? [])
    }

    /// Writes both keys.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(UInt32(clamping: self.time.unixSeconds), forKey: .time)
        try container.encode(DeviceToken(unchecked: self.token).hex, forKey: .token)
    }
}
