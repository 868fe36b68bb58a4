internal import FerryCore

/// A key of the file, known or unknown.
private struct AnyKey: CodingKey {
    var stringValue: String
    var intValue: Int? { nil }

    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
}

extension Decoder {
    /// Throws for an unknown key. Without that, a misspelt key would silently have no effect.
    ///
    /// - Parameter others: the keys of another place of the file, and what to say of them.
    func refuseKeys(except known: [some CodingKey], others: (keys: [String], advice: String) = ([], "")) throws {
        let known = known.map(\.stringValue)
        let list = known.joined(separator: ", ")
        for key in try self.container(keyedBy: AnyKey.self).allKeys where !known.contains(key.stringValue) {
            let advice = others.keys.contains(key.stringValue) ? " \(others.advice)" : ""
            throw DecodingError.dataCorrupted(
                .init(
                    codingPath: self.codingPath,
                    debugDescription: "There is no key '\(key.stringValue.printable)'; there are \(list).\(advice)"
                )
            )
        }
    }
}

extension KeyedDecodingContainer {
    /// Replaces a default, if the key is present.
    func read<Value: Decodable>(_ key: Key, into value: inout Value) throws {
        value = try self.decodeIfPresent(Value.self, forKey: key) ?? value
    }

    /// Reads a whole number; nil if the key is absent.
    ///
    /// The decoder alone would call a number that does not fit its type "not valid JSON", and name no key.
    ///
    /// - Parameter advice: what to do about a number out of the range, as part of the error message.
    func number<Number: FixedWidthInteger & Decodable>(
        _ key: Key,
        in range: ClosedRange<Number> = .min ... .max,
        advice: String = ""
    ) throws -> Number? {
        guard try self.contains(key) && !self.decodeNil(forKey: key) else { return nil }
        guard let number = try? self.decode(Number.self, forKey: key), range.contains(number) else {
            let isBounded = range.upperBound < .max || Number.bitWidth < 64
            let bounds = isBounded ? "\(range.lowerBound) to \(range.upperBound)" : "at least \(range.lowerBound)"
            throw self.fault(key, "is a whole number, \(bounds)\(advice)")
        }
        return number
    }

    /// Replaces a default by one of several words, if the key is present.
    func choice<Choice: CaseIterable & RawRepresentable<String>>(_ key: Key, into value: inout Choice) throws {
        value = try self.choice(key) ?? value
    }

    /// Reads one of several words; nil if the key is absent.
    func choice<Choice: CaseIterable & RawRepresentable<String>>(_ key: Key) throws -> Choice? {
        guard try self.contains(key) && !self.decodeNil(forKey: key) else { return nil }
        let word = try? self.decode(String.self, forKey: key)
        guard let choice = word.flatMap(Choice.init(rawValue:)) else {
            let list = Choice.allCases.map(\.rawValue).joined(separator: ", ")
            throw self.fault(key, "is one of \(list)\(word.map { ", not '\($0.printable)'" } ?? "")")
        }
        return choice
    }

    /// Reads a list of words; nil if the key is absent.
    func choices<Choice: CaseIterable & RawRepresentable<String> & Hashable>(_ key: Key) throws -> Set<Choice>? {
        guard try self.contains(key) && !self.decodeNil(forKey: key) else { return nil }
        let words = try? self.decode([String].self, forKey: key)
        let choices = (words ?? []).compactMap(Choice.init(rawValue:))
        guard let words, choices.count == words.count else {
            throw self.fault(key, "is a list of \(Choice.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        return Set(choices)
    }

    /// - Parameter sentence: the error message: how the conditions of a rule combine.
    func requireCondition(_ isMet: Bool, _ sentence: String) throws {
        guard !isMet else { return }
        throw DecodingError.dataCorrupted(.init(codingPath: self.codingPath, debugDescription: sentence))
    }

    func require(_ condition: Bool, _ key: Key, _ message: String) throws {
        guard condition else { throw self.fault(key, message) }
    }

    private func fault(_ key: Key, _ message: String) -> DecodingError {
        .dataCorrupted(
            .init(codingPath: self.codingPath + [key], debugDescription: "'\(key.stringValue)' \(message).")
        )
    }

    /// Reads a number of seconds, rounded to nanoseconds; nil if the key is absent. A Double holds a day in whole
    /// nanoseconds, so a duration that was written is read as the same one.
    func duration(_ key: Key) throws -> Duration? {
        guard try self.contains(key) && !self.decodeNil(forKey: key) else { return nil }
        let day = 86_400.0
        guard let seconds = try? self.decode(Double.self, forKey: key), (0...day).contains(seconds) else {
            throw self.fault(key, "is 0 to \(Int(day)) seconds")
        }
        return .nanoseconds(Int64((seconds * 1e9).rounded()))
    }

    func hexadecimal(_ key: Key) throws -> [UInt8]? {
        try self.decodeIfPresent(String.self, forKey: key).map { try self.bytes(of: $0, key) }
    }

    func hexadecimals(_ key: Key) throws -> [[UInt8]]? {
        try self.decodeIfPresent([String].self, forKey: key)?.map { try self.bytes(of: $0, key) }
    }

    private func bytes(of text: String, _ key: Key) throws -> [UInt8] {
        let bytes = [UInt8](hexadecimal: text.utf8)
        try self.require(bytes != nil, key, "is not an even number of hexadecimal digits")
        return bytes ?? []
    }
}
