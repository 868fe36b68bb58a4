/// The members of one JSON object, in the order of its text. Values keep their bytes.
///
/// An object that has a name twice is refused, because two readers could see two different values.
package struct JSONObject {
    package let text: [UInt8]
    package private(set) var members: [(name: String, value: JSONValue)]
    private var places: [String: Int]

    /// Why a text is no such object.
    package enum Fault: Error {
        case malformed(JSONFault)
        case twice(name: String)
    }

    package init(parsing text: [UInt8]) throws(Fault) {
        self.text = text
        self.members = []
        self.places = [:]
        var members: [(name: String, value: JSONValue)] = []
        do throws(JSONFault) {
            members = try text.withUnsafeBufferPointer { (bytes) throws(JSONFault) in
                var walk = JSONMembers(bytes)
                var members: [(name: String, value: JSONValue)] = []
                while let member = try walk.next() { members.append((try member.key.decoded(in: bytes), member.value)) }
                return members
            }
        } catch {
            throw .malformed(error)
        }
        for member in members {
            guard self.places.updateValue(self.members.count, forKey: member.name) == nil else {
                throw .twice(name: member.name)
            }
            self.members.append(member)
        }
    }

    /// Returns nil if `text` is not one JSON object, or has a name twice.
    package init?(_ text: [UInt8]) {
        guard let object = try? JSONObject(parsing: text) else { return nil }
        self = object
    }

    package func has(_ name: String) -> Bool { self.places[name] != nil }

    package func value(_ name: String) -> JSONValue? { self.places[name].map { self.members[$0].value } }

    /// The JSON text of a member.
    package func json(_ value: JSONValue) -> ArraySlice<UInt8> { self.text[value.range] }

    /// The value of a string; nil for any other value.
    package func string(_ name: String) -> String? { self.value(name).flatMap { try? self.string($0) } }

    /// The value of a string; nil for any other value.
    ///
    /// - Throws: ``JSONFault`` if an escape in it stands for no character.
    package func string(_ value: JSONValue) throws(JSONFault) -> String? {
        guard let text = value.text else { return nil }
        return try self.text.withUnsafeBufferPointer { (bytes) throws(JSONFault) in try text.decoded(in: bytes) }
    }

    /// The value of a whole number; nil for any other value.
    package func integer(_ name: String) -> Int64? {
        guard let value = self.value(name) else { return nil }
        return self.text.withUnsafeBufferPointer { value.integer(in: $0) }
    }

    /// The value of `true` or `false`; nil for any other value.
    package func bool(_ name: String) -> Bool? { self.value(name).flatMap { self.bool($0) } }

    /// The value of `true` or `false`; nil for any other value.
    package func bool(_ value: JSONValue) -> Bool? { self.text.withUnsafeBufferPointer { value.bool(in: $0) } }

    /// The object in a member; nil for any other value, and for an object that has a name twice.
    package func object(_ name: String) -> JSONObject? {
        guard let value = self.value(name), value.kind == .object else { return nil }
        return JSONObject(Array(self.json(value)))
    }

    /// The strings of a list; nil for any other value.
    package func strings(_ name: String) -> [String]? {
        guard let elements = self.value(name).flatMap({ self.elements($0) }) else { return nil }
        let strings = elements.compactMap { try? self.string($0) }
        return strings.count == elements.count ? strings : nil
    }

    /// The objects of a list; nil for any other value.
    package func objects(_ name: String) -> [JSONObject]? {
        guard let elements = self.value(name).flatMap({ self.elements($0) }) else { return nil }
        let objects = elements.compactMap { $0.kind == .object ? JSONObject(Array(self.json($0))) : nil }
        return objects.count == elements.count ? objects : nil
    }

    /// The elements of a list, with their places in ``text``; nil for any other value.
    package func elements(_ list: JSONValue) -> [JSONValue]? {
        guard list.kind == .array else { return nil }
        return self.text.withUnsafeBufferPointer { bytes in
            var scanner = JSONScanner(UnsafeBufferPointer(rebasing: bytes[list.range]))
            var elements: [JSONValue] = []
            _ = scanner.skip(UInt8(ascii: "["))
            scanner.skipWhitespace()
            // The syntax of the whole object was checked, so this cannot fail.
            while let byte = scanner.peek(), byte != UInt8(ascii: "]"), var element = try? scanner.skipValue() {
                let start = list.range.lowerBound
                element.range = element.range.lowerBound + start..<element.range.upperBound + start
                elements.append(element)
                scanner.skipWhitespace()
                _ = scanner.skip(UInt8(ascii: ","))
                scanner.skipWhitespace()
            }
            return elements
        }
    }
}
