internal import FerryCore

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

extension GatewayScript: Codable {
    private enum CodingKeys: String, CodingKey, CaseIterable {
        case handshake, payloadLimit, errorDelay = "errorDelaySeconds", keepsOpen, linger = "lingerSeconds"
        case bytesPerSecond, rules, feedback, http2
    }

    /// Reads a script from JSON text.
    ///
    /// - Throws: `DecodingError` that says where the text is no script.
    public init(json text: some Sequence<UInt8>) throws {
        self = try JSONDecoder().decode(GatewayScript.self, from: Data(text))
    }

    /// Reads a script from a JSON file.
    ///
    /// - Throws: a file error, or `DecodingError` that says where the text is no script.
    public init(contentsOfFile path: String) throws {
        self = try JSONDecoder().decode(GatewayScript.self, from: Data(contentsOf: URL(filePath: path)))
    }

    /// - Throws: `DecodingError` for a key that does not exist, or a value out of its range.
    public init(from decoder: any Decoder) throws {
        try decoder.refuseKeys(except: CodingKeys.allCases)
        let container = try decoder.container(keyedBy: CodingKeys.self)
        try container.read(.handshake, into: &self.handshake)
        try container.read(.payloadLimit, into: &self.payloadLimit)
        try container.read(.keepsOpen, into: &self.keepsOpen)
        try container.read(.rules, into: &self.rules)
        try container.read(.feedback, into: &self.feedback)
        try container.read(.http2, into: &self.http2)
        self.bytesPerSecond = try container.decodeIfPresent(Int.self, forKey: .bytesPerSecond)
        self.errorDelay = try container.duration(.errorDelay) ?? self.errorDelay
        self.linger = try container.duration(.linger) ?? self.linger
        try container.require(self.payloadLimit >= 1, .payloadLimit, "must be at least 1")
        try container.require((self.bytesPerSecond ?? 1) >= 1, .bytesPerSecond, "must be at least 1")
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

    /// - Throws: `DecodingError` for a key that does not exist, a value out of its range, or a rule that never holds.
    public init(from decoder: any Decoder) throws {
        try decoder.refuseKeys(except: CodingKeys.allCases)
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            tokens: try container.hexadecimals(.tokens).map { Set($0.map(DeviceToken.init(unchecked:))) },
            prefix: try container.hexadecimal(.prefix),
            at: try container.decodeIfPresent(Int.self, forKey: .at),
            after: try container.decodeIfPresent(Int.self, forKey: .after),
            times: try container.decodeIfPresent(Int.self, forKey: .times),
            identifier: try container.decodeIfPresent(UInt32.self, forKey: .identifier),
            length: try container.decodeIfPresent(Int.self, forKey: .length),
            bytes: try container.hexadecimal(.bytes),
            delay: try container.duration(.delay),
            since: try container.decodeIfPresent(UInt32.self, forKey: .since)
        )
        try container.read(.action, into: &self.action)
        try container.read(.status, into: &self.status)
        let isAboutOne = self.tokens != nil || self.prefix != nil || self.at != nil
        try container.require(
            isAboutOne != (self.after != nil),
            .after,
            "a rule needs either 'after' or some of 'tokens', 'prefix' and 'at'"
        )
        try container.require(self.action != .gone || isAboutOne, .action, "is not 'gone' together with 'after'")
        try container.require((self.at ?? 1) >= 1, .at, "counts from 1")
        try container.require((self.after ?? 0) >= 0, .after, "must not be negative")
        try container.require((self.length ?? 0) >= 0, .length, "must not be negative")
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
        try container.encodeIfPresent(self.since, forKey: .since)
    }
}
