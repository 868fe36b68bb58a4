internal import FerryCore

/// A key as it stands in the file, whether a script has it or not.
private struct AnyKey: CodingKey {
    var stringValue: String
    var intValue: Int? { nil }

    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
}

extension Decoder {
    /// A misspelt key would be a rule that silently never holds.
    func refuseKeys(except known: [some CodingKey]) throws {
        let known = known.map(\.stringValue)
        let list = known.joined(separator: ", ")
        for key in try self.container(keyedBy: AnyKey.self).allKeys where !known.contains(key.stringValue) {
            throw DecodingError.dataCorrupted(
                .init(
                    codingPath: self.codingPath,
                    debugDescription: "There is no key '\(key.stringValue)'; there are \(list)."
                )
            )
        }
    }
}

extension KeyedDecodingContainer {
    /// Replaces a default, if the key is there.
    func read<Value: Decodable>(_ key: Key, into value: inout Value) throws {
        value = try self.decodeIfPresent(Value.self, forKey: key) ?? value
    }

    func require(_ condition: Bool, _ key: Key, _ message: String) throws {
        guard !condition else { return }
        throw DecodingError.dataCorrupted(
            .init(codingPath: self.codingPath + [key], debugDescription: "'\(key.stringValue)' \(message).")
        )
    }

    /// Whole nanoseconds, which a Double holds for more than a day: what is written reads the same again.
    func duration(_ key: Key) throws -> Duration? {
        guard let seconds = try self.decodeIfPresent(Double.self, forKey: key) else { return nil }
        let day = 86_400.0
        try self.require((0...day).contains(seconds), key, "is 0 to \(Int(day)) seconds")
        return .nanoseconds(Int64((seconds * 1e9).rounded()))
    }

    func hexadecimal(_ key: Key) throws -> [UInt8]? {
        try self.decodeIfPresent(String.self, forKey: key).map { try self.bytes(of: $0, key) }
    }

    func hexadecimals(_ key: Key) throws -> [[UInt8]]? {
        try self.decodeIfPresent([String].self, forKey: key)?.map { try self.bytes(of: $0, key) }
    }

    private func bytes(of text: String, _ key: Key) throws -> [UInt8] {
        let nibbles = text.utf8.compactMap(DeviceToken.nibble)
        let isHexadecimal = nibbles.count == text.utf8.count && nibbles.count.isMultiple(of: 2)
        try self.require(isHexadecimal, key, "is not an even number of hexadecimal digits")
        return stride(from: 0, to: nibbles.count, by: 2).map { nibbles[$0] << 4 | nibbles[$0 + 1] }
    }
}
