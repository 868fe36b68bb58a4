internal import FerryCore
internal import FerryPlatform

extension GatewayScript: Codable {
    private enum CodingKeys: String, CodingKey, CaseIterable {
        case handshake, payloadLimit, errorDelay = "errorDelaySeconds", keepsOpen, linger = "lingerSeconds"
        case bytesPerSecond, rules, feedback, http2
    }

    /// Reads a script from JSON text.
    ///
    /// - Throws: `DecodingError` that names the place of the fault.
    public init(json text: some Sequence<UInt8>) throws {
        self = try JSONDecoder().decode(GatewayScript.self, from: Data(text))
    }

    /// The longest script in a file.
    private static var longestFile: Int { 16 << 20 }

    /// Reads a script from a JSON file of at most 16 MiB.
    ///
    /// - Throws: a file error, or `DecodingError` that names the place of the fault.
    public init(contentsOfFile path: String) throws {
        self = try JSONDecoder().decode(GatewayScript.self, from: Data(wholeFile(path, limit: Self.longestFile)))
    }

    /// - Throws: `DecodingError` for an unknown key, or a value out of its range.
    public init(from decoder: any Decoder) throws {
        try decoder.refuseKeys(except: CodingKeys.allCases)
        let container = try decoder.container(keyedBy: CodingKeys.self)
        try container.choice(.handshake, into: &self.handshake)
        self.payloadLimit = try container.number(.payloadLimit, in: 1 ... .max) ?? self.payloadLimit
        try container.read(.keepsOpen, into: &self.keepsOpen)
        try container.read(.rules, into: &self.rules)
        try container.read(.feedback, into: &self.feedback)
        try container.read(.http2, into: &self.http2)
        self.bytesPerSecond = try container.number(.bytesPerSecond, in: 1 ... .max)
        self.errorDelay = try container.duration(.errorDelay) ?? self.errorDelay
        self.linger = try container.duration(.linger) ?? self.linger
    }

    /// Writes every key that has a value.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(self.handshake, forKey: .handshake)
        try container.encode(self.payloadLimit, forKey: .payloadLimit)
        try container.encode(self.errorDelay / .seconds(1), forKey: .errorDelay)
        try container.encode(self.keepsOpen, forKey: .keepsOpen)
        try container.encode(self.linger / .seconds(1), forKey: .linger)
        try container.encodeIfPresent(self.bytesPerSecond, forKey: .bytesPerSecond)
        try container.encode(self.rules, forKey: .rules)
        try container.encode(self.feedback, forKey: .feedback)
        try container.encode(self.http2, forKey: .http2)
    }
}

extension GatewayRule: Codable {
    private enum CodingKeys: String, CodingKey, CaseIterable {
        case tokens, prefix, at, after, times, action, status, identifier, length, bytes, delay = "delaySeconds"
        case since
    }

    /// - Throws: `DecodingError` for an unknown key, a value out of its range, or a rule that never applies.
    public init(from decoder: any Decoder) throws {
        let elsewhere = "rules for HTTP/2 stand under 'http2'"
        try decoder.refuseKeys(except: CodingKeys.allCases, others: (HTTP2Rule.keys, elsewhere.asSentence))
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            tokens: try container.hexadecimals(.tokens).map { Set($0.map(DeviceToken.init(unchecked:))) },
            prefix: try container.hexadecimal(.prefix),
            at: try container.number(.at, in: 1 ... .max),
            after: try container.number(.after, in: 0 ... .max),
            times: try container.number(.times, in: 0 ... .max),
            identifier: try container.number(.identifier),
            length: try container.number(.length, in: 0 ... .max),
            bytes: try container.hexadecimal(.bytes),
            delay: try container.duration(.delay),
            since: try container.number(.since).map { (seconds: UInt32) in Date(timeIntervalSince1970: Double(seconds))
            }
        )
        try container.choice(.action, into: &self.action)
        self.status = try container.number(.status, advice: "; \(elsewhere)") ?? self.status
        let isAboutOne = self.tokens != nil || self.prefix != nil || self.at != nil
        try container.requireCondition(
            isAboutOne != (self.after != nil),
            "A rule says when it holds: by 'after' alone, or by some of 'tokens', 'prefix' and 'at'."
        )
        try container.require(self.action != .gone || isAboutOne, .action, "is not 'gone' together with 'after'")
    }

    /// Writes every key that has a value.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encodeIfPresent(self.tokens?.map(\.hex).sorted(), forKey: .tokens)
        try container.encodeIfPresent(self.prefix?.hexadecimal, forKey: .prefix)
        try container.encodeIfPresent(self.at, forKey: .at)
        try container.encodeIfPresent(self.after, forKey: .after)
        try container.encodeIfPresent(self.times, forKey: .times)
        try container.encode(self.action, forKey: .action)
        try container.encode(self.status, forKey: .status)
        try container.encodeIfPresent(self.identifier, forKey: .identifier)
        try container.encodeIfPresent(self.length, forKey: .length)
        try container.encodeIfPresent(self.bytes?.hexadecimal, forKey: .bytes)
        try container.encodeIfPresent(self.delay.map { $0 / .seconds(1) }, forKey: .delay)
        try container.encodeIfPresent(self.since.map { UInt32(clamping: $0.unixSeconds) }, forKey: .since)
    }
}
