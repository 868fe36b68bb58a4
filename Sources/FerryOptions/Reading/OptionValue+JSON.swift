internal import FerryCore

extension OptionValue {
    /// Parses one JSON object and returns its members. Skips a byte order mark before it.
    ///
    /// - Throws: ``OptionFault/malformed(_:)``, or ``OptionFault/twice(_:)`` if a name occurs twice in one object.
    ///   JavaScript would silently use the second value, and a person who reads the text may use the first.
    package static func members(of text: some Collection<UInt8>) throws(OptionFault) -> [String: OptionValue] {
        let mark: [UInt8] = [0xef, 0xbb, 0xbf]
        let text = Array(text.starts(with: mark) ? text.dropFirst(mark.count) : text[...])
        // The syntax is checked first. Otherwise text that is not JSON could be reported as a duplicate name.
        if let fault = text.withUnsafeBufferPointer({ JSONScanner.faultInObject($0) }) { throw .malformed(fault) }
        do {
            return try self.members(of: text, at: "")
        } catch {
            throw error as? OptionFault ?? .malformed(error)
        }
    }

    /// - Parameter path: the place of the object, for a fault: "clients[0].".
    private static func members(of text: [UInt8], at path: String) throws -> [String: OptionValue] {
        let object: JSONObject
        do throws(JSONObject.Fault) {
            object = try JSONObject(parsing: text)
        } catch {
            switch error {
            case .malformed(let fault): throw fault
            case .twice(let name): throw OptionFault.twice(OptionFault.place(path, name))
            }
        }
        var values: [String: OptionValue] = [:]
        for (name, value) in object.members {
            values[name] = try self.value(value, of: object, at: path + OptionFault.shown(name))
        }
        return values
    }

    private static func value(_ value: JSONValue, of object: JSONObject, at path: String) throws -> OptionValue {
        switch value.kind {
        case .null: return .null
        case .bool: return .boolean(object.bool(value) ?? false)
        case .number: return .number(Double(String(decoding: object.json(value), as: UTF8.self)) ?? .infinity)
        case .string: return .text(try object.string(value) ?? "")
        case .array:
            var values: [OptionValue] = []
            for element in object.elements(value) ?? [] {
                values.append(try self.value(element, of: object, at: "\(path)[\(values.count)]"))
            }
            return .list(values)
        case .object: return .object(try self.members(of: Array(object.json(value)), at: "\(path)."))
        }
    }
}
