internal import FerryCore

/// A JSON object of options. Each value is taken once by its name; what is left at the end was a wrong name.
struct OptionsObject {
    private let text: UnsafeBufferPointer<UInt8>
    private var values: [String: JSONValue] = [:]
    /// The place in the options, for messages: "" or "http2.".
    private let prefix: String

    /// - Throws: when `text` is not one JSON object, or has a name twice.
    init(_ text: UnsafeBufferPointer<UInt8>, prefix: String = "") throws(OptionsFault) {
        self.text = text
        self.prefix = prefix
        do {
            var members = JSONMembers(text)
            while let member = try members.next() {
                let name = try member.key.decoded(in: text)
                guard self.values.updateValue(member.value, forKey: name) == nil else {
                    throw OptionsFault("The option \(Self.quoted(prefix + name)) stands there twice.")
                }
            }
        } catch let fault as OptionsFault {
            throw fault
        } catch {
            throw OptionsFault("The options are not one JSON object, such as {\"backend\":\"http2\"}: \(error).")
        }
    }

    /// Quotes a name, unless it may hold something that nobody should see.
    private static func quoted(_ name: String) -> String {
        name.utf8.count <= 40 && name.utf8.allSatisfy { 0x21...0x7e ~= $0 } ? "'\(name)'" : "with a strange name"
    }

    private func fault(_ name: String, _ wanted: String) -> OptionsFault {
        OptionsFault("The option '\(self.prefix)\(name)' takes \(wanted).")
    }

    func has(_ name: String) -> Bool { self.values[name] != nil }

    private mutating func take(_ name: String) -> JSONValue? {
        guard let value = self.values.removeValue(forKey: name), value.kind != .null else { return nil }
        return value
    }

    mutating func string(_ name: String) throws(OptionsFault) -> String? {
        guard let value = self.take(name) else { return nil }
        guard let text = value.text, let string = try? text.decoded(in: self.text) else {
            throw self.fault(name, "a string")
        }
        return string
    }

    mutating func bool(_ name: String) throws(OptionsFault) -> Bool? {
        guard let value = self.take(name) else { return nil }
        guard let bool = value.bool(in: self.text) else { throw self.fault(name, "true or false") }
        return bool
    }

    mutating func integer(_ name: String, in range: ClosedRange<Int>) throws(OptionsFault) -> Int? {
        guard let value = self.take(name) else { return nil }
        guard let number = value.integer(in: self.text), let number = Int(exactly: number), range.contains(number)
        else {
            throw self.fault(name, "a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    mutating func number(_ name: String, in range: ClosedRange<Double>) throws(OptionsFault) -> Double? {
        guard let value = self.take(name) else { return nil }
        guard value.kind == .number, let number = Double(String(decoding: value.bytes(in: self.text), as: UTF8.self)),
            range.contains(number)
        else { throw self.fault(name, "a number from \(range.lowerBound) to \(range.upperBound)") }
        return number
    }

    /// Returns a time that the options give in seconds.
    mutating func seconds(_ name: String) throws(OptionsFault) -> Duration? {
        try self.number(name, in: 0...1_000_000).map { .nanoseconds(Int64($0 * 1e9)) }
    }

    mutating func choice<Choice: RawRepresentable & CaseIterable>(
        _ name: String,
        _: Choice.Type = Choice.self
    ) throws(OptionsFault) -> Choice? where Choice.RawValue == String {
        guard let string = try self.string(name) else { return nil }
        guard let choice = Choice(rawValue: string) else {
            let words = Choice.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ", ")
            throw self.fault(name, "one of \(words)")
        }
        return choice
    }

    mutating func object(_ name: String) throws(OptionsFault) -> OptionsObject? {
        guard let value = self.take(name) else { return nil }
        guard value.kind == .object else { throw self.fault(name, "an object") }
        return try OptionsObject(value.bytes(in: self.text), prefix: "\(self.prefix)\(name).")
    }

    /// - Throws: when a value was not taken.
    func end() throws(OptionsFault) {
        guard let name = self.values.keys.min() else { return }
        throw OptionsFault("There is no option \(Self.quoted(self.prefix + name)) here.")
    }
}
