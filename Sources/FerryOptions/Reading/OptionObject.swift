package import FerryCore

/// A JSON object of options. Each option is taken once by its name. An option that is left at the end has an unknown
/// name.
package struct OptionObject: Sendable {
    private let language: OptionLanguage
    /// The members that were not taken.
    package private(set) var members: [String: OptionValue]
    /// The place in the options, for messages: "" or "http2.".
    private let path: String
    /// The files that hold members, for messages. The key is the place of a member or of its object. Members that the
    /// program wrote have no file.
    private var files: [String: FileName] = [:]
    /// The names that exist here: those that ``take(_:_:)`` and ``leave(_:)`` got.
    private var known: Set<String> = []
    /// The fault of the first missing option. ``end()`` reports an unknown name first, because that name may be a
    /// misspelling of the missing option.
    private var missing: OptionFault?

    /// - Parameter file: the file that holds `text`, for messages; nil if the program wrote it.
    /// - Throws: ``OptionFault`` when `text` is not one JSON object, or has a name twice.
    package init(
        _ text: some Collection<UInt8>,
        of language: OptionLanguage,
        file: FileName? = nil
    ) throws(OptionFault) {
        do {
            self.init(try OptionValue.members(of: text), of: language)
        } catch {
            throw Self.fault(error, in: file)
        }
        for name in self.members.keys { self.files[name] = file }
    }

    package init(_ members: [String: OptionValue] = [:], of language: OptionLanguage, at path: String = "") {
        self.language = language
        self.members = members
        self.path = path
    }

    private static func fault(_ fault: OptionFault, in file: FileName?) -> OptionFault {
        guard let file else { return fault }
        return OptionFault("In \(file.words(option: "'config'")): \(fault.sentence)")
    }

    private func fault(_ fault: OptionFault, of name: String) -> OptionFault {
        Self.fault(fault, in: self.file(of: name))
    }

    private func file(of name: String) -> FileName? {
        self.files[self.path + name] ?? self.files[String(self.path.dropLast())]
    }

    /// The place of a member in the options, for messages.
    package func place(_ name: String) -> String { OptionFault.place(self.path, name) }

    // MARK: Taking

    /// Takes an option of `kind`; nil if the option is missing or null. Throws if the value has another type, or is
    /// out of range.
    package mutating func take(_ name: String, _ kind: OptionKind) throws(OptionFault) -> OptionValue? {
        self.known.insert(name)
        guard let given = self.members.removeValue(forKey: name), given != .null else { return nil }
        if let value = kind.value(given, in: self.language) { return value }
        var (place, wanted) = (self.place(name), kind)
        if case .list(let element) = kind, case .list(let elements) = given,
            let index = elements.firstIndex(where: { element.value($0, in: self.language) == nil })
        {
            (place, wanted) = ("'\(self.path)\(name)[\(index)]'", element)
        }
        throw self.fault(.wrong(place, wanted.wanted(in: self.language)), of: name)
    }

    /// Leaves a member to another program that reads the same text.
    package mutating func leave(_ name: String) {
        self.known.insert(name)
        self.members.removeValue(forKey: name)
    }

    /// Takes an option of the table; nil if the option is missing or null, or does not exist in this language.
    package mutating func take(_ option: ProviderOption) throws(OptionFault) -> OptionValue? {
        guard let name = option.name(in: self.language) else { return nil }
        return try self.take(name, option.kind)
    }

    /// Takes an option of the table.
    ///
    /// - Parameter name: the name of the option in the library.
    package mutating func take(_ name: String) throws(OptionFault) -> OptionValue? { try self.take(.named(name)) }

    /// Takes an object; nil if it is missing or null.
    package mutating func object(_ name: String) throws(OptionFault) -> OptionObject? {
        guard case .object(let members) = try self.take(name, .object) else { return nil }
        return self.object(members, at: "\(self.path)\(name).")
    }

    /// Takes a list of objects; nil if it is missing or null.
    package mutating func objects(_ name: String) throws(OptionFault) -> [OptionObject]? {
        guard case .list(let elements) = try self.take(name, .list(of: .object)) else { return nil }
        return elements.enumerated().compactMap { index, element in
            guard case .object(let members) = element else { return nil }
            return self.object(members, at: "\(self.path)\(name)[\(index)].")
        }
    }

    private func object(_ members: [String: OptionValue], at path: String) -> OptionObject {
        var object = OptionObject(members, of: self.language, at: path)
        object.files = self.files
        return object
    }

    /// Returns `value`. If it is nil, ``end()`` throws, because the option is missing.
    ///
    /// - Parameters:
    ///   - value: the value that was taken under this name.
    ///   - other: the result if `value` is nil.
    package mutating func require<Value>(_ name: String, _ value: Value?, or other: Value) -> Value {
        if value == nil, self.missing == nil { self.missing = .missing(self.place(name)) }
        return value ?? other
    }

    /// - Throws: ``OptionFault`` when an option was not taken, or a required one is missing.
    package func end() throws(OptionFault) {
        if let name = self.members.keys.min() {
            throw self.fault(.unknown(self.place(name), name, among: self.known), of: name)
        }
        if let missing { throw missing }
    }

    // MARK: Looking and changing

    /// Whether an option is given, in any form.
    package func has(_ name: String) -> Bool { self.members[name] != nil }

    /// Returns a text without taking it; nil if the option is missing or not a text.
    package func peek(_ name: String) -> String? {
        guard case .text(let text) = self.members[name] else { return nil }
        return text
    }

    package mutating func remove(_ names: some Sequence<String>) {
        for name in names { self.members[name] = nil }
    }

    package mutating func keep(_ names: Set<String>) {
        self.members = self.members.filter { names.contains($0.key) }
    }

    /// Sets or replaces the value of an option; nil removes the option.
    package mutating func set(_ name: String, _ value: OptionValue?) { self.members[name] = value }

    /// Adds the members of `other`, in place of those with the same names. Messages still name their files.
    package mutating func replaceMembers(by other: OptionObject) {
        for (name, value) in other.members {
            self.members[name] = value
            self.files[self.path + name] = other.file(of: name)
        }
    }

    /// Sets the object under a name. Messages still name the files of its members.
    package mutating func set(_ name: String, object: OptionObject) {
        self.members[name] = .object(object.members)
        self.files.merge(object.files) { $1 }
    }

    /// Returns the options as one text, to compare them with others.
    package func text(without left: Set<String>) -> String {
        OptionValue.object(self.members.filter { !left.contains($0.key) }).canonical
    }
}
