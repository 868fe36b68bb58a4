internal import FerryCore

extension HTTP2Script: Codable {
    private enum CodingKeys: String, CodingKey, CaseIterable {
        case handshake, maxConcurrentStreams, coldStart, requiresToken, topics
        case tokenUpdateInterval = "tokenUpdateSeconds", answerDelay = "answerDelaySeconds"
        case payloadLimit, hasUniqueID = "uniqueId", rules
    }

    /// - Throws: `DecodingError` for a key that does not exist, or a value out of its range.
    public init(from decoder: any Decoder) throws {
        try decoder.refuseKeys(except: CodingKeys.allCases)
        let container = try decoder.container(keyedBy: CodingKeys.self)
        try container.read(.handshake, into: &self.handshake)
        try container.read(.maxConcurrentStreams, into: &self.maxConcurrentStreams)
        try container.read(.coldStart, into: &self.coldStart)
        try container.read(.requiresToken, into: &self.requiresToken)
        self.topics = try container.decodeIfPresent([String].self, forKey: .topics)
        self.tokenUpdateInterval = try container.duration(.tokenUpdateInterval) ?? self.tokenUpdateInterval
        self.answerDelay = try container.duration(.answerDelay) ?? self.answerDelay
        self.payloadLimit = try container.decodeIfPresent(Int.self, forKey: .payloadLimit)
        try container.read(.hasUniqueID, into: &self.hasUniqueID)
        try container.read(.rules, into: &self.rules)
        try container.require(
            0...Int(Int32.max) ~= self.maxConcurrentStreams,
            .maxConcurrentStreams,
            "is 0 to \(Int32.max)"
        )
        try container.require(
            1...Self.highestPayloadLimit ~= self.payloadLimit ?? 1,
            .payloadLimit,
            "is 1 to \(Self.highestPayloadLimit)"
        )
    }

    /// Beyond any limit of Apple's, and as much as a connection may keep of each body.
    private static let highestPayloadLimit = 1 << 20

    /// Writes every key that has a value.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(self.handshake, forKey: .handshake)
        try container.encode(self.maxConcurrentStreams, forKey: .maxConcurrentStreams)
        try container.encode(self.coldStart, forKey: .coldStart)
        try container.encode(self.requiresToken, forKey: .requiresToken)
        try container.encodeIfPresent(self.topics, forKey: .topics)
        try container.encode(self.tokenUpdateInterval / .seconds(1), forKey: .tokenUpdateInterval)
        try container.encode(self.answerDelay / .seconds(1), forKey: .answerDelay)
        try container.encodeIfPresent(self.payloadLimit, forKey: .payloadLimit)
        try container.encode(self.hasUniqueID, forKey: .hasUniqueID)
        try container.encode(self.rules, forKey: .rules)
    }
}

extension HTTP2Rule: Codable {
    private enum CodingKeys: String, CodingKey, CaseIterable {
        case tokens, prefix, at, after, every, times, action, status, reason, timestamp
        case retryAfter = "retryAfterSeconds", lastStream, errorCode, closes, maxConcurrentStreams, windowBytes
        case hold = "holdSeconds", delay = "delaySeconds"
    }

    /// - Throws: `DecodingError` for a key that does not exist, a value out of its range, or a rule that never holds.
    public init(from decoder: any Decoder) throws {
        try decoder.refuseKeys(except: CodingKeys.allCases)
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            tokens: try container.hexadecimals(.tokens).map { Set($0.map(DeviceToken.init(unchecked:))) },
            prefix: try container.hexadecimal(.prefix),
            at: try container.decodeIfPresent(Int.self, forKey: .at),
            after: try container.decodeIfPresent(Int.self, forKey: .after),
            every: try container.decodeIfPresent(Int.self, forKey: .every),
            times: try container.decodeIfPresent(Int.self, forKey: .times),
            status: try container.decodeIfPresent(Int.self, forKey: .status),
            reason: try container.decodeIfPresent(String.self, forKey: .reason).map(Reason.init(rawValue:)),
            timestamp: try container.decodeIfPresent(Int64.self, forKey: .timestamp),
            retryAfter: try container.decodeIfPresent(Int.self, forKey: .retryAfter),
            maxConcurrentStreams: try container.decodeIfPresent(Int.self, forKey: .maxConcurrentStreams),
            delay: try container.duration(.delay)
        )
        try container.read(.action, into: &self.action)
        try container.read(.lastStream, into: &self.lastStream)
        self.errorCode = try container.decodeIfPresent(UInt32.self, forKey: .errorCode)
        try container.read(.closes, into: &self.closes)
        try container.read(.windowBytes, into: &self.windowBytes)
        self.hold = try container.duration(.hold) ?? self.hold
        try self.check(container)
    }

    private func check(_ container: KeyedDecodingContainer<CodingKeys>) throws {
        let isAboutOne = self.tokens != nil || self.prefix != nil || self.at != nil
        let occasions = [isAboutOne, self.after != nil, self.every != nil].filter(\.self).count
        try container.require(
            occasions == 1,
            .after,
            "a rule needs either 'after', or 'every', or some of 'tokens', 'prefix' and 'at'"
        )
        try container.require((self.at ?? 1) >= 1, .at, "counts from 1")
        try container.require((self.after ?? 0) >= 0, .after, "must not be negative")
        try container.require((self.every ?? 1) >= 1, .every, "must be at least 1")
        try container.require(200...599 ~= self.status ?? 200, .status, "is 200 to 599")
        try container.require((self.retryAfter ?? 0) >= 0, .retryAfter, "must not be negative")
        try container.require(self.windowBytes >= 0, .windowBytes, "must not be negative")
        try container.require(
            0...Int(Int32.max) ~= self.maxConcurrentStreams ?? 0,
            .maxConcurrentStreams,
            "is 0 to \(Int32.max)"
        )
        try container.require(
            (self.action == .settings) == (self.maxConcurrentStreams != nil),
            .maxConcurrentStreams,
            "and the action 'settings' need each other"
        )
    }

    /// Writes every key that has a value.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encodeIfPresent(self.tokens?.map(\.hex).sorted(), forKey: .tokens)
        try container.encodeIfPresent(self.prefix?.hexadecimal, forKey: .prefix)
        try container.encodeIfPresent(self.at, forKey: .at)
        try container.encodeIfPresent(self.after, forKey: .after)
        try container.encodeIfPresent(self.every, forKey: .every)
        try container.encodeIfPresent(self.times, forKey: .times)
        try container.encode(self.action, forKey: .action)
        try container.encodeIfPresent(self.status, forKey: .status)
        try container.encodeIfPresent(self.reason?.rawValue, forKey: .reason)
        try container.encodeIfPresent(self.timestamp, forKey: .timestamp)
        try container.encodeIfPresent(self.retryAfter, forKey: .retryAfter)
        try container.encode(self.lastStream, forKey: .lastStream)
        try container.encodeIfPresent(self.errorCode, forKey: .errorCode)
        try container.encode(self.closes, forKey: .closes)
        try container.encodeIfPresent(self.maxConcurrentStreams, forKey: .maxConcurrentStreams)
        try container.encode(self.windowBytes, forKey: .windowBytes)
        try container.encode(self.hold / .seconds(1), forKey: .hold)
        try container.encodeIfPresent(self.delay.map { $0 / .seconds(1) }, forKey: .delay)
    }
}
