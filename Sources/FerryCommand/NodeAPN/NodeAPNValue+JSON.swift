internal import FerryCore

extension NodeAPNValue {
    /// Why a text is not an options object.
    enum Fault: Error, Equatable {
        /// The text is not one JSON object.
        case malformed(JSONFault)
        /// A name occurs twice in one object. JavaScript would silently use the second value.
        case duplicate(String)
    }

    /// Parses one JSON object and returns its members. Skips a byte order mark before it.
    static func members(of text: UnsafeBufferPointer<UInt8>) throws(Fault) -> [String: NodeAPNValue] {
        let mark: [UInt8] = [0xef, 0xbb, 0xbf]
        let text = text.starts(with: mark) ? UnsafeBufferPointer(rebasing: text.dropFirst(mark.count)) : text
        // The syntax is checked first. Otherwise text that is not JSON could be reported as a duplicate name.
        if let fault = JSONScanner.faultInObject(text) { throw .malformed(fault) }
        return try self.object(text)
    }

    private static func object(_ text: UnsafeBufferPointer<UInt8>) throws(Fault) -> [String: NodeAPNValue] {
        var values: [String: NodeAPNValue] = [:]
        var members = JSONMembers(text)
        while let (name, value) = try self.next(&members, text) {
            guard values.updateValue(try self.value(value, text), forKey: name) == nil else { throw .duplicate(name) }
        }
        return values
    }

    private static func next(
        _ members: inout JSONMembers,
        _ text: UnsafeBufferPointer<UInt8>
    ) throws(Fault) -> (String, JSONValue)? {
        do {
            guard let member = try members.next() else { return nil }
            return (try member.key.decoded(in: text), member.value)
        } catch {
            throw .malformed(error)
        }
    }

    private static func value(_ value: JSONValue, _ text: UnsafeBufferPointer<UInt8>) throws(Fault) -> NodeAPNValue {
        let bytes = value.bytes(in: text)
        switch value.kind {
        case .null: return .null
        case .bool: return .boolean(value.bool(in: text) ?? false)
        case .number: return .number(Double(String(decoding: bytes, as: UTF8.self)) ?? .infinity)
        case .string:
            do {
                return .text(try value.text?.decoded(in: text) ?? "")
            } catch {
                throw .malformed(error)
            }
        case .array: return .list(try self.list(bytes))
        case .object: return .object(try self.object(bytes))
        }
    }

    /// - Parameter text: an array whose syntax was checked.
    private static func list(_ text: UnsafeBufferPointer<UInt8>) throws(Fault) -> [NodeAPNValue] {
        var values: [NodeAPNValue] = []
        var scanner = JSONScanner(text)
        _ = scanner.skip(UInt8(ascii: "["))
        scanner.skipWhitespace()
        while !scanner.skip(UInt8(ascii: "]")) {
            let element: JSONValue
            do {
                element = try scanner.skipValue()
            } catch {
                throw .malformed(error)
            }
            values.append(try self.value(element, text))
            scanner.skipWhitespace()
            _ = scanner.skip(UInt8(ascii: ","))
            scanner.skipWhitespace()
        }
        return values
    }
}
