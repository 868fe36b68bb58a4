internal import FerryCore
internal import FerryPlatform

extension HTTP2Script: Codable {
    private enum CodingKeys: String, CodingKey, CaseIterable {
        case handshake, maxConcurrentStreams, coldStart, requiresToken, topics
        case tokenUpdateInterval = "tokenUpdateSeconds", answerDelay = "answerDelaySeconds"
        case payloadLimit, hasUniqueID = "uniqueId", rules
    }

    /// - Throws: `DecodingError` for an unknown key, or a value out of its range.
    public init(from decoder: any Decoder) throws {
        try decoder.refuseKeys(except: CodingKeys.allCases)
        let container = try decoder.container(keyedBy: CodingKeys.self)
        try container.choice(.handshake, into: &self.handshake)
        self.maxConcurrentStreams =
            try container.number(.maxConcurrentStreams, in: 0...Int(Int32.max)) ?? self.maxConcurrentStreams
        try container.read(.coldStart, into: &self.coldStart)
        try container.read(.requiresToken, into: &self.requiresToken)
        self.topics = try container.decodeIfPresent([String].self, forKey: .topics)
        self.tokenUpdateInterval = try container.duration(.tokenUpdateInterval) ?? self.tokenUpdateInterval
        self.answerDelay = try container.duration(.answerDelay) ?? self.answerDelay
        self.payloadLimit = try container.number(.payloadLimit, in: 1...Self.highestPayloadLimit)
        try container.read(.hasUniqueID, into: &self.hasUniqueID)
        try container.read(.rules, into: &self.rules)
    }

    /// The largest `payloadLimit` in bytes. A connection keeps this much of each body. It is above all limits of Apple.
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
        case tokens, prefix, channels, at, after, every, refused, times, action, status, reason, timestamp
        case retryAfter = "retryAfterSeconds", lastStream, errorCode, closes, maxConcurrentStreams, windowBytes
        case hold = "holdSeconds", delay = "delaySeconds"
    }

    /// The keys of a rule, as they appear in the file.
    static let keys = CodingKeys.allCases.map(\.stringValue)

    /// - Throws: `DecodingError` for an unknown key, a value out of its range, or a rule that never applies.
    public init(from decoder: any Decoder) throws {
        try decoder.refuseKeys(except: CodingKeys.allCases)
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            tokens: try container.hexadecimals(.tokens).map { Set($0.map(DeviceToken.init(unchecked:))) },
            prefix: try container.hexadecimal(.prefix),
            channels: try container.choices(.channels),
            at: try container.number(.at, in: 1 ... .max),
            after: try container.number(.after, in: 0 ... .max),
            every: try container.number(.every, in: 1 ... .max),
            refused: try container.number(.refused, in: 1 ... .max),
            times: try container.number(.times, in: 0 ... .max),
            status: try container.number(.status, in: 200...599),
            reason: try container.decodeIfPresent(String.self, forKey: .reason).map(Reason.init(rawValue:)),
            timestamp: try container.number(.timestamp, in: 0...Date.unixMillisecondsRange.upperBound)
                .map { Date(unixMilliseconds: $0) },
            retryAfter: try container.number(.retryAfter, in: 0 ... .max),
            maxConcurrentStreams: try container.number(.maxConcurrentStreams, in: 0...Int(Int32.max)),
            delay: try container.duration(.delay)
        )
        try container.choice(.action, into: &self.action)
        try container.choice(.lastStream, into: &self.lastStream)
        self.errorCode = try container.number(.errorCode)
        try container.read(.closes, into: &self.closes)
        self.windowBytes = try container.number(.windowBytes, in: 0 ... .max) ?? self.windowBytes
        self.hold = try container.duration(.hold) ?? self.hold
        try self.check(container)
    }

    private func check(_ container: KeyedDecodingContainer<CodingKeys>) throws {
        let isAboutOne = self.tokens != nil || self.prefix != nil || self.channels != nil || self.at != nil
        let occasions = [isAboutOne, self.after != nil, self.every != nil, self.refused != nil].filter(\.self).count
        try container.requireCondition(
            occasions == 1,
            "A rule says when it holds: by 'after', 'every' or 'refused' alone, or by some of 'tokens', 'prefix', 'channels' and 'at'."
        )
        try container.require(
            self.refused == nil || !self.concernsRequest,
            .refused,
            "needs an action on the connection, such as 'goAway' or 'close'"
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
        try container.encodeIfPresent(self.channels?.map(\.rawValue).sorted(), forKey: .channels)
        try container.encodeIfPresent(self.at, forKey: .at)
        try container.encodeIfPresent(self.after, forKey: .after)
        try container.encodeIfPresent(self.every, forKey: .every)
        try container.encodeIfPresent(self.refused, forKey: .refused)
        try container.encodeIfPresent(self.times, forKey: .times)
        try container.encode(self.action, forKey: .action)
        try container.encodeIfPresent(self.status, forKey: .status)
        try container.encodeIfPresent(self.reason?.rawValue, forKey: .reason)
        try container.encodeIfPresent(self.timestamp?.unixMilliseconds, forKey: .timestamp)
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
