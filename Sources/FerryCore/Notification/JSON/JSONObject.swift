/// The members of one JSON object, in the order of its text. Values keep their bytes.
///
/// An object that has a name twice is refused, because two readers could see two different values.
package struct JSONObject {
    package let text: [UInt8]
    package private(set) var members: [(name: String, value: JSONValue)]
    private var places: [String: Int]

    /// Returns nil if `text` is not one JSON object, or has a name twice.
    package init?(_ text: [UInt8]) {
        self.text = text
        var members: [(name: String, value: JSONValue)] = []
        var places: [String: Int] = [:]
        let isObject = text.withUnsafeBufferPointer { bytes in
            do {
                var walk = JSONMembers(bytes)
                while let member = try walk.next() {
                    let name = try member.key.decoded(in: bytes)
                    guard places.updateValue(members.count, forKey: name) == nil else { return false }
                    members.append((name, member.value))
                }
                return true
            } catch {
                return false
            }
        }
        guard isObject else { return nil }
        (self.members, self.places) = (members, places)
    }

    package func has(_ name: String) -> Bool { self.places[name] != nil }

    package func value(_ name: String) -> JSONValue? { self.places[name].map { self.members[$0].value } }

    /// The JSON text of a member.
    package func json(_ value: JSONValue) -> ArraySlice<UInt8> { self.text[value.range] }

    /// The value of a string; nil for any other value.
    package func string(_ name: String) -> String? {
        guard let text = self.value(name)?.text else { return nil }
        return self.text.withUnsafeBufferPointer { bytes in try? text.decoded(in: bytes) }
    }

    /// The value of a whole number; nil for any other value.
    package func integer(_ name: String) -> Int64? {
        guard let value = self.value(name) else { return nil }
        return self.text.withUnsafeBufferPointer { value.integer(in: $0) }
    }

    /// The value of `true` or `false`; nil for any other value.
    package func bool(_ name: String) -> Bool? {
        guard let value = self.value(name) else { return nil }
        return self.text.withUnsafeBufferPointer { value.bool(in: $0) }
    }

    /// The object in a member; nil for any other value, and for an object that has a name twice.
    package func object(_ name: String) -> JSONObject? {
        guard let value = self.value(name), value.kind == .object else { return nil }
        return JSONObject(Array(self.json(value)))
    }

    /// The strings of a list; nil for any other value.
    package func strings(_ name: String) -> [String]? {
        self.elements(name)?.reduce(into: [String]?([])) { list, element in
            guard let text = element.text, list != nil else { return list = nil }
            let string = self.text.withUnsafeBufferPointer { try? text.decoded(in: $0) }
            if let string { list?.append(string) } else { list = nil }
        }
    }

    /// The objects of a list; nil for any other value.
    package func objects(_ name: String) -> [JSONObject]? {
        guard let elements = self.elements(name) else { return nil }
        let objects = elements.compactMap { $0.kind == .object ? JSONObject(Array(self.json($0))) : nil }
        return objects.count == elements.count ? objects : nil
    }

    /// The elements of a list, with their places in ``text``.
    private func elements(_ name: String) -> [JSONValue]? {
        guard let list = self.value(name), list.kind == .array else { return nil }
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
