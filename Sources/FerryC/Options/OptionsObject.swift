internal import FerryCore

/// A JSON object of options. Each value is taken once by its name; what is left at the end was a wrong name.
///
/// Its texts belong to the caller, and must outlive it.
struct OptionsObject {
    /// Text that holds options.
    private struct Text {
        var bytes: UnsafeBufferPointer<UInt8>
        /// The file, for messages. Nil: the program wrote the text.
        var file: FileName?

        func fault(_ sentence: String) -> OptionsFault {
            guard let file else { return OptionsFault(sentence) }
            return OptionsFault("In \(file.words(option: "'config'")): \(sentence)")
        }
    }

    private enum Value {
        case json(JSONValue, in: Text)
        case object(OptionsObject)
    }

    private var values: [String: Value] = [:]
    /// The place in the options, for messages: "" or "http2.".
    private let prefix: String

    init(prefix: String) { self.prefix = prefix }

    /// - Parameter file: the file that holds `text`, for messages; nil if the program wrote it.
    /// - Throws: when `text` is not one JSON object, or has a name twice.
    init(_ text: UnsafeBufferPointer<UInt8>, of file: FileName? = nil) throws(OptionsFault) {
        try self.init(Text(bytes: text, file: file), prefix: "")
    }

    private init(_ text: Text, prefix: String) throws(OptionsFault) {
        self.prefix = prefix
        do {
            var members = JSONMembers(text.bytes)
            while let member = try members.next() {
                let name = try member.key.decoded(in: text.bytes)
                guard self.values.updateValue(.json(member.value, in: text), forKey: name) == nil else {
                    throw text.fault("The option \(Self.quoted(prefix + name)) stands there twice.")
                }
            }
        } catch let fault as OptionsFault {
            throw fault
        } catch {
            throw text.fault("The options are not one JSON object, such as {\"backend\":\"http2\"}: \(error).")
        }
    }

    /// Quotes a name, unless it may hold something that nobody should see.
    private static func quoted(_ name: String) -> String {
        name.utf8.count <= 40 && name.utf8.allSatisfy { 0x21...0x7e ~= $0 } ? "'\(name)'" : "with a strange name"
    }

    private func fault(_ name: String, _ wanted: String, in text: Text) -> OptionsFault {
        text.fault("The option '\(self.prefix)\(name)' takes \(wanted).")
    }

    func has(_ name: String) -> Bool { self.values[name] != nil }

    var names: Set<String> { Set(self.values.keys) }

    mutating func remove(_ names: some Sequence<String>) {
        for name in names { self.values[name] = nil }
    }

    /// Sets an option that the program did not write.
    mutating func set(_ name: String, _ object: OptionsObject) { self.values[name] = .object(object) }

    /// Sets the options of a JSON object that the program did not write.
    mutating func set(_ json: StaticString) throws(OptionsFault) {
        let text = UnsafeBufferPointer(start: json.utf8Start, count: json.utf8CodeUnitCount)
        self.replaceValues(by: try OptionsObject(text))
    }

    /// Gives an option another name.
    mutating func rename(_ name: String, to other: String) {
        self.values[other] = self.values.removeValue(forKey: name)
    }

    /// Copies an option under another name.
    mutating func copy(_ name: String, as other: String) { self.values[other] = self.values[name] }

    /// Copies an option of another object.
    mutating func copy(_ name: String, from other: OptionsObject) { self.values[name] = other.values[name] }

    /// Takes all options of `other`, in place of those with the same names.
    mutating func replaceValues(by other: OptionsObject) { self.values.merge(other.values) { $1 } }

    private mutating func take(_ name: String) -> (JSONValue, Text)? {
        guard case .json(let value, let text) = self.values.removeValue(forKey: name), value.kind != .null else {
            return nil
        }
        return (value, text)
    }

    /// Returns an option without taking it; nil if it is no string.
    func peek(_ name: String) -> String? {
        guard case .json(let value, let text) = self.values[name] else { return nil }
        return value.text.flatMap { try? $0.decoded(in: text.bytes) }
    }

    /// Returns an option without taking it.
    ///
    /// - Throws: if it is no number in `range`.
    func peekNumber(_ name: String, in range: ClosedRange<Double>) throws(OptionsFault) -> Double? {
        var copy = self
        return try copy.number(name, in: range)
    }

    /// The options as one text, in the order of their names, to compare them with others.
    func text(without left: Set<String>) -> String {
        self.values.filter { !left.contains($0.key) }.sorted { $0.key < $1.key }.map { name, value in
            switch value {
            case .json(let value, let text): "\(name):\(String(decoding: value.bytes(in: text.bytes), as: UTF8.self))"
            case .object(let object): "\(name):{\(object.text(without: []))}"
            }
        }.joined(separator: ",")
    }

    mutating func string(_ name: String) throws(OptionsFault) -> String? {
        guard let (value, text) = self.take(name) else { return nil }
        guard let string = value.text, let string = try? string.decoded(in: text.bytes) else {
            throw self.fault(name, "a string", in: text)
        }
        return string
    }

    mutating func bool(_ name: String) throws(OptionsFault) -> Bool? {
        guard let (value, text) = self.take(name) else { return nil }
        guard let bool = value.bool(in: text.bytes) else { throw self.fault(name, "true or false", in: text) }
        return bool
    }

    mutating func integer(_ name: String, in range: ClosedRange<Int>) throws(OptionsFault) -> Int? {
        guard let (value, text) = self.take(name) else { return nil }
        guard let number = value.integer(in: text.bytes), let number = Int(exactly: number), range.contains(number)
        else {
            throw self.fault(name, "a whole number from \(range.lowerBound) to \(range.upperBound)", in: text)
        }
        return number
    }

    mutating func number(_ name: String, in range: ClosedRange<Double>) throws(OptionsFault) -> Double? {
        guard let (value, text) = self.take(name) else { return nil }
        guard value.kind == .number, let number = Double(String(decoding: value.bytes(in: text.bytes), as: UTF8.self)),
            range.contains(number)
        else { throw self.fault(name, "a number from \(range.lowerBound) to \(range.upperBound)", in: text) }
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
        guard case .json(_, let text) = self.values[name], let string = try self.string(name) else { return nil }
        guard let choice = Choice(rawValue: string) else {
            let words = Choice.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ", ")
            throw self.fault(name, "one of \(words)", in: text)
        }
        return choice
    }

    mutating func object(_ name: String) throws(OptionsFault) -> OptionsObject? {
        if case .object(let object) = self.values[name] {
            self.values[name] = nil
            return object
        }
        guard let (value, text) = self.take(name) else { return nil }
        guard value.kind == .object else { throw self.fault(name, "an object", in: text) }
        let inner = Text(bytes: value.bytes(in: text.bytes), file: text.file)
        return try OptionsObject(inner, prefix: "\(self.prefix)\(name).")
    }

    /// - Throws: when a value was not taken.
    func end() throws(OptionsFault) {
        guard let (name, value) = self.values.min(by: { $0.key < $1.key }) else { return }
        let sentence = "There is no option \(Self.quoted(self.prefix + name)) here."
        guard case .json(_, let text) = value else { throw OptionsFault(sentence) }
        throw text.fault(sentence)
    }
}
